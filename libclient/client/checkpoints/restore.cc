// SPDX-License-Identifier: Apache-2.0
// CheckpointClient: reading rows out of a checkpoint, and loading them into tensors.
#include <algorithm>
#include <cstring>
#include <random>
#include <thread>

#include "base/clock.h"
#include "base/interrupt.h"
#include "base/strings.h"
#include "client/checkpoints/client.h"
#include "client/checkpoints/peer.h"
#include "graph/tensor_rows.h"
#include "store/rows/update_rule.h"
#include "wire/tensor_messages.h"

namespace graphd {
namespace {

constexpr size_t kRowPiece = size_t{4} << 20;          // bytes
constexpr int64_t kIdPiece = int64_t{4} << 20;         // ids
constexpr const char* kOriginalIdFeature = "orig_id";  // as graphctl partition writes it

std::vector<std::byte> BytesOf(capnp::Data::Reader data) {
  const auto* begin = reinterpret_cast<const std::byte*>(data.begin());
  return {begin, begin + data.size()};
}

}  // namespace

void CheckpointClient::EachRows(const Checkpoint& checkpoint, const CheckpointTensor& tensor,
                                const std::function<void(const Rows&)>& f) {
  const Found found = FindOne(checkpoint.name);
  const TensorSpec& spec = tensor.spec;
  const size_t row_bytes = spec.row_bytes();
  const size_t state_bytes = store::StateFloats(tensor.state, spec.row_elements()) * sizeof(float);
  const auto per_piece =
      static_cast<int64_t>(std::max<size_t>(kRowPiece / (row_bytes + state_bytes), 1));
  int64_t done = 0;
  for (const auto& [part, peer] : found.places) {
    std::vector<std::byte> ids;
    int64_t ids_begin = 0, ids_end = 0;
    for (int64_t begin = 0;;) {
      if (spec.policy != TensorPolicy::kRange && begin >= ids_end && (begin == 0 || !ids.empty())) {
        // The first call that reads of a part looks at all its files.
        On(*peer, "reading original ids", kDiskLimit, [&, part = part](Peer& at) {
          auto request = at.checkpoints().originalIdsRequest();
          request.setName(checkpoint.name);
          request.setPart(part);
          request.setTensor(spec.name);
          request.setBegin(begin);
          request.setCount(kIdPiece);
          return request.send().then([&](auto&& answer) { ids = BytesOf(answer.getIds()); });
        });
        ids_begin = begin;
        ids_end = begin + static_cast<int64_t>(ids.size() / sizeof(int64_t));
      }
      std::vector<std::byte> values, states;
      const int64_t wanted = ids.empty() ? per_piece : std::min(per_piece, ids_end - begin);
      On(*peer, "reading rows", kDiskLimit, [&, part = part](Peer& at) {
        auto request = at.checkpoints().readRowsRequest();
        request.setName(checkpoint.name);
        request.setPart(part);
        request.setTensor(spec.name);
        request.setBegin(begin);
        request.setCount(wanted);
        return request.send().then([&](auto&& answer) {
          values = BytesOf(answer.getRows());
          states = BytesOf(answer.getStates());
        });
      });
      const auto count = static_cast<int64_t>(values.size() / row_bytes);
      if (count == 0) break;
      if (values.size() % row_bytes != 0 ||
          (!states.empty() && states.size() != static_cast<size_t>(count) * state_bytes)) {
        Throw(ErrorCode::kCorrupt, "the graphd at ", peer->name, " sent ", values.size(),
              " bytes of rows and ", states.size(), " of states of tensor '", spec.name, "'");
      }
      Rows rows{part, begin, count, {}, values, states};
      if (!ids.empty()) {
        rows.orig_ids = {reinterpret_cast<const int64_t*>(ids.data()) + (begin - ids_begin),
                         static_cast<size_t>(count)};
      }
      f(rows);
      begin += count;
      done += count;
      if (on_progress) on_progress(spec.name, done, spec.rows);
    }
  }
  if (done != spec.rows) {
    Throw(ErrorCode::kCorrupt, "checkpoint '", checkpoint.name, "' has ", done, " rows of tensor '",
          spec.name, "' and should have ", spec.rows);
  }
}

// Finds where rows of a checkpoint belong now, and sends them there.
struct CheckpointClient::Loader {
  CheckpointClient& client;
  const Checkpoint& checkpoint;
  TensorSpec spec;
  TensorRows place;
  std::vector<uint32_t> tables;  // [part]
  std::vector<Peer*> owners;     // [part]
  // By original id: (original, current), ascending; empty if the graph has none.
  std::vector<std::pair<int64_t, int64_t>> current;
  uint64_t client_high = 0, client_low = 0, sequence = 0;

  std::vector<int64_t> IdsOf(const Rows& rows) const {
    std::vector<int64_t> ids(static_cast<size_t>(rows.count));
    if (spec.policy == TensorPolicy::kRange) {
      const int64_t parts = checkpoint.num_parts;  // as RowsOf has it
      const int64_t first = spec.rows / parts * rows.part + spec.rows % parts * rows.part / parts;
      for (size_t i = 0; i < ids.size(); i++) {
        ids[i] = first + rows.begin + static_cast<int64_t>(i);
      }
    } else if (!rows.orig_ids.empty() && !current.empty()) {
      for (size_t i = 0; i < ids.size(); i++) {
        const auto at = std::lower_bound(current.begin(), current.end(),
                                         std::pair(rows.orig_ids[i], INT64_MIN));
        if (at == current.end() || at->first != rows.orig_ids[i]) {
          Throw(ErrorCode::kInvalid, "tensor '", spec.name, "': the graph has no orig_id ",
                rows.orig_ids[i], ", which checkpoint '", checkpoint.name,
                "' has; it is of another graph");
        }
        ids[i] = at->second;
      }
    } else {
      if (place.map->num_parts() != checkpoint.num_parts) {
        Throw(ErrorCode::kInvalid, "tensor '", spec.name,
              "': without the feature 'orig_id' of its ", "nodes or edges, a checkpoint of ",
              checkpoint.num_parts, " partitions can't be restored to ", place.map->num_parts());
      }
      for (size_t i = 0; i < ids.size(); i++) {
        ids[i] =
            place.map->FromLocalRow(rows.part, place.type, rows.begin + static_cast<int64_t>(i));
      }
    }
    return ids;
  }

  void Load(const Rows& rows) {
    struct Piece {
      std::vector<int64_t> ids;
      std::vector<std::byte> payload;
    };
    std::map<PartId, Piece> pieces;
    const std::vector<int64_t> ids = IdsOf(rows);
    const size_t row_bytes = rows.values.size() / ids.size();
    const size_t state_bytes = rows.states.size() / ids.size();
    for (size_t i = 0; i < ids.size(); i++) {
      Piece& piece = pieces[place.map->Owner(place.type, ids[i])];
      piece.ids.push_back(ids[i]);
      const auto value = rows.values.subspan(i * row_bytes, row_bytes);
      const auto state = rows.states.subspan(i * state_bytes, state_bytes);
      piece.payload.insert(piece.payload.end(), value.begin(), value.end());
      piece.payload.insert(piece.payload.end(), state.begin(), state.end());
    }
    for (const auto& [part, piece] : pieces) Push(part, piece.ids, piece.payload);
  }

  void Push(PartId part, const std::vector<int64_t>& ids, std::span<const std::byte> payload) {
    const size_t id_bytes = place.id_bytes();
    const auto start = Clock::now();
    for (;;) {
      sequence++;
      try {
        client.On(*owners[static_cast<size_t>(part)], "loading rows", client.options_.timeout,
                  [&](Peer& peer) {
                    auto request = peer.graph().pushRequest();
                    request.setTable(tables[static_cast<size_t>(part)]);
                    request.initRule().setKind(static_cast<uint8_t>(store::UpdateKind::kLoad));
                    request.initClient().setHigh(client_high);
                    request.getClient().setLow(client_low);
                    request.setSequence(sequence);
                    auto out = request.initIds(static_cast<kj::uint>(ids.size() * id_bytes));
                    for (size_t i = 0; i < ids.size(); i++) {
                      std::memcpy(out.begin() + i * id_bytes, &ids[i], id_bytes);
                    }
                    request.setPayload(capnp::Data::Reader(
                        reinterpret_cast<const kj::byte*>(payload.data()), payload.size()));
                    return request.send().ignoreResult();
                  });
        return;
      } catch (const Error& error) {
        if (error.code() != ErrorCode::kOverloaded ||
            Clock::now() - start > client.options_.timeout) {
          throw;
        }
        AwaitTime(std::chrono::milliseconds(50));
      }
    }
  }

  // Makes or opens the shares, with the job's right to write them.
  void Open(OptimizerState state) {
    for (const auto& peer : client.peers_) {
      for (const PartId part : peer->parts) {
        owners[static_cast<size_t>(part)] = peer.get();
        uint32_t& table = tables[static_cast<size_t>(part)];
        client.On(*peer, "opening tensor '" + spec.name + "'", kDiskLimit, [&](Peer& at) {
          auto request = at.graph().openTensorRequest();
          request.setPart(part);
          WriteTensorSpec(spec, request.initSpec());
          request.setCreate(true);
          return request.send().then([&](auto&& answer) { table = answer.getInfo().getTable(); });
        });
        Lease(*peer, table, true);
        if (state == OptimizerState::kNone) continue;
        client.On(*peer, "preparing tensor '" + spec.name + "'", kDiskLimit, [&](Peer& at) {
          auto request = at.graph().prepareStateRequest();
          request.setTable(table);
          request.setState(static_cast<uint8_t>(state));
          return request.send().ignoreResult();
        });
      }
    }
  }

  // A job that has just gone keeps its lease for some seconds.
  void Lease(Peer& peer, uint32_t table, bool hold) {
    const auto start = Clock::now();
    for (;;) {
      try {
        return client.On(peer, "taking the lease of '" + spec.name + "'", kDiskLimit,
                         [&](Peer& at) {
                           auto request = at.graph().leaseRequest();
                           request.setTable(table);
                           request.setHold(hold);
                           return request.send().ignoreResult();
                         });
      } catch (const Error& error) {
        if (error.code() != ErrorCode::kUnavailable ||
            Clock::now() - start > client.options_.timeout) {
          throw;
        }
        AwaitTime(std::chrono::milliseconds(200));
      }
    }
  }

  void SetLoading(bool on) {
    for (size_t part = 0; part < tables.size(); part++) {
      client.On(*owners[part], "restoring tensor '" + spec.name + "'", kDiskLimit, [&](Peer& at) {
        auto request = at.checkpoints().loadingRequest();
        request.setTable(tables[part]);
        request.setOn(on);
        return request.send().ignoreResult();
      });
    }
  }
};

// The pairs (original id, id), ascending; none if the graph has no original ids.
std::vector<std::pair<int64_t, int64_t>> CheckpointClient::CurrentIds(const TensorSpec& spec) {
  const bool is_edge = spec.policy == TensorPolicy::kEdge;
  const IdMap& map = is_edge ? meta_->book.edges() : meta_->book.nodes();
  std::vector<std::pair<int64_t, int64_t>> pairs;
  pairs.reserve(static_cast<size_t>(map.count(spec.type)));
  for (const auto& peer : peers_) {
    for (const PartId part : peer->parts) {
      const int64_t rows = map.count_in(part, spec.type);
      for (int64_t begin = 0; begin < rows; begin += kIdPiece) {
        std::vector<std::byte> bytes;
        try {
          On(*peer, "reading orig_id", options_.timeout, [&](Peer& at) {
            auto request = at.graph().sliceRequest();
            request.setPart(part);
            request.setIsEdge(is_edge);
            request.setType(spec.type);
            request.setName(kOriginalIdFeature);
            request.setBegin(begin);
            request.setCount(std::min(kIdPiece, rows - begin));
            return request.send().then([&](auto&& answer) { bytes = BytesOf(answer.getRows()); });
          });
        } catch (const Error& error) {
          if (error.code() == ErrorCode::kNotFound) return {};
          throw;
        }
        const auto* ids = reinterpret_cast<const int64_t*>(bytes.data());
        for (size_t i = 0; i < bytes.size() / sizeof(int64_t); i++) {
          pairs.emplace_back(ids[i],
                             map.FromLocalRow(part, spec.type, begin + static_cast<int64_t>(i)));
        }
      }
    }
  }
  std::sort(pairs.begin(), pairs.end());
  return pairs;
}

// Has all machines read through what they have of it.
void CheckpointClient::LookAt(const std::string& name,
                              const std::vector<const CheckpointTensor*>& tensors) {
  if (tensors.empty()) return;
  const Found found = FindOne(name);
  for (const auto& [part, peer] : found.places) {
    On(*peer, "looking at a checkpoint", kDiskLimit, [&, part = part](Peer& at) {
      auto request = at.checkpoints().readRowsRequest();
      request.setName(name);
      request.setPart(part);
      request.setTensor(tensors.front()->spec.name);
      return request.send().ignoreResult();
    });
  }
}

void CheckpointClient::Restore(const std::string& name, const std::vector<std::string>& names,
                               bool keep_leases) {
  const Checkpoint checkpoint = Find(name);
  std::vector<const CheckpointTensor*> chosen;
  for (const CheckpointTensor& tensor : checkpoint.tensors) {
    if (names.empty() || std::count(names.begin(), names.end(), tensor.spec.name) != 0) {
      chosen.push_back(&tensor);
    }
  }
  for (const std::string& wanted : names) {
    if (std::none_of(chosen.begin(), chosen.end(),
                     [&](const auto* each) { return each->spec.name == wanted; })) {
      Throw(ErrorCode::kNotFound, "checkpoint '", name, "' has no tensor '", wanted, "'");
    }
  }
  std::random_device random;
  std::vector<Loader> loaders;
  const auto parts = static_cast<size_t>(meta_->book.num_partitions());
  for (const CheckpointTensor* tensor : chosen) {
    TensorSpec spec = tensor->spec;
    if (spec.type < 0) {
      Throw(ErrorCode::kInvalid, "tensor '", spec.name, "' of checkpoint '", name,
            "' belongs to a type that graph '", meta_->graph_name, "' does not have");
    }
    CheckTensorSpec(*meta_, spec);
    Loader loader{*this, checkpoint, spec, RowsOf(meta_, spec), {}, {}, {}, random(), random()};
    loader.tables.resize(parts);
    loader.owners.resize(parts);
    if (spec.policy != TensorPolicy::kRange) loader.current = CurrentIds(spec);
    loader.Open(tensor->state);
    loaders.push_back(std::move(loader));
  }
  LookAt(name, chosen);
  // Nothing has changed so far.
  for (Loader& loader : loaders) loader.SetLoading(true);
  for (size_t i = 0; i < loaders.size(); i++) {
    EachRows(checkpoint, *chosen[i], [&](const Rows& rows) { loaders[i].Load(rows); });
  }
  for (Loader& loader : loaders) loader.SetLoading(false);
  if (keep_leases) return;
  for (Loader& loader : loaders) {
    for (size_t part = 0; part < parts; part++) {
      loader.Lease(*loader.owners[part], loader.tables[part], false);
    }
  }
}

}  // namespace graphd
