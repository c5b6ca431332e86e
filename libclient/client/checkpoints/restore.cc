// SPDX-License-Identifier: Apache-2.0
#include "client/checkpoints/restore.h"

#include <algorithm>
#include <cstring>
#include <random>

#include "base/clock.h"
#include "base/interruptions.h"
#include "base/strings.h"
#include "client/checkpoints/peer.h"
#include "client/link/answer_checks.h"
#include "graph/tensor_rows.h"
#include "store/rows/apply_rule.h"
#include "wire/tensor_messages.h"

namespace graphd {
namespace {

constexpr const char* kOriginalIdFeature = "orig_id";  // written by graphctl partition

// Returns the tensors of these names, or all if `names` is empty.
std::vector<const CheckpointTensor*> ChooseTensors(const Checkpoint& checkpoint,
                                                   const std::vector<std::string>& names) {
  std::vector<const CheckpointTensor*> chosen;
  for (const CheckpointTensor& tensor : checkpoint.tensors) {
    if (names.empty() || std::count(names.begin(), names.end(), tensor.spec.name) != 0) {
      chosen.push_back(&tensor);
    }
  }
  for (const std::string& wanted : names) {
    if (std::none_of(chosen.begin(), chosen.end(),
                     [&](const auto* each) { return each->spec.name == wanted; })) {
      Throw(ErrorCode::kNotFound, "checkpoint '", checkpoint.name, "' has no tensor '", wanted,
            "'");
    }
  }
  return chosen;
}

}  // namespace

// Loads the rows of one tensor: finds their current ids and sends them to the owners.
struct CheckpointRestore::TensorLoader {
  CheckpointClient& client;
  const Checkpoint& checkpoint;
  TensorSpec spec;
  TensorRows place;
  std::vector<uint32_t> tables;                 // [part]
  std::vector<CheckpointClient::Peer*> owners;  // [part]
  // The pairs (original id, current id), ascending; empty if the graph has no original ids.
  IdPairs current;
  uint64_t client_high = 0, client_low = 0, sequence = 0;

  // Returns the current ids of rows of the checkpoint.
  std::vector<int64_t> IdsOf(const CheckpointClient::Rows& rows) const {
    std::vector<int64_t> ids(static_cast<size_t>(rows.count));
    if (spec.policy == TensorPolicy::kRange) {
      const int64_t parts = checkpoint.num_parts;  // see RowsOf
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
                "' has; it belongs to another graph");
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

  // Divides rows by owner and pushes them.
  void Load(const CheckpointClient::Rows& rows) {
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

  // Pushes rows to the owner of a partition; retries until the timeout while it is overloaded.
  void Push(PartId part, const std::vector<int64_t>& ids, std::span<const std::byte> payload) {
    const size_t id_bytes = place.id_bytes();
    const auto start = Clock::now();
    for (;;) {
      sequence++;
      try {
        client.On(*owners[static_cast<size_t>(part)], "loading rows", client.options_.timeout,
                  [&](CheckpointClient::Peer& peer) {
                    auto request = peer.graph().pushRequest();
                    request.setTable(tables[static_cast<size_t>(part)]);
                    request.initRule().setKind(static_cast<uint8_t>(UpdateKind::kLoad));
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

  // Creates or opens the shares and takes their leases.
  void Open(OptimizerState state) {
    for (const auto& peer : client.peers_) {
      for (const PartId part : peer->parts) {
        owners[static_cast<size_t>(part)] = peer.get();
        uint32_t& table = tables[static_cast<size_t>(part)];
        client.On(*peer, "opening tensor '" + spec.name + "'", kDiskLimit,
                  [&](CheckpointClient::Peer& at) {
                    auto request = at.graph().openTensorRequest();
                    request.setPart(part);
                    WriteTensorSpec(spec, request.initSpec());
                    request.setCreate(true);
                    return request.send().then(
                        [&](auto&& answer) { table = answer.getInfo().getTable(); });
                  });
        Lease(*peer, table, true);
        if (state == OptimizerState::kNone) continue;
        client.On(*peer, "preparing tensor '" + spec.name + "'", kDiskLimit,
                  [&](CheckpointClient::Peer& at) {
                    auto request = at.graph().prepareStateRequest();
                    request.setTable(table);
                    request.setState(static_cast<uint8_t>(state));
                    return request.send().ignoreResult();
                  });
      }
    }
  }

  // Takes or gives back the lease of a share. Retries until the timeout, because a job that has
  // just ended keeps its lease for some seconds.
  void Lease(CheckpointClient::Peer& peer, uint32_t table, bool hold) {
    const auto start = Clock::now();
    for (;;) {
      try {
        return client.On(peer, "taking the lease of '" + spec.name + "'", kDiskLimit,
                         [&](CheckpointClient::Peer& at) {
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

  // Begins or ends the state in which a tensor can be neither read nor written.
  void SetLoading(bool on) {
    for (size_t part = 0; part < tables.size(); part++) {
      client.On(*owners[part], "restoring tensor '" + spec.name + "'", kDiskLimit,
                [&](CheckpointClient::Peer& at) {
                  auto request = at.checkpoints().loadingRequest();
                  request.setTable(tables[part]);
                  request.setOn(on);
                  return request.send().ignoreResult();
                });
    }
  }
};

CheckpointRestore::IdPairs CheckpointRestore::CurrentIds(const TensorSpec& spec) {
  const bool is_edge = spec.policy == TensorPolicy::kEdge;
  const IdMap& map = client_.meta_->book.map(is_edge);
  IdPairs pairs;
  pairs.reserve(static_cast<size_t>(map.count(spec.type)));
  for (const auto& peer : client_.peers_) {
    for (const PartId part : peer->parts) {
      const int64_t rows = map.count_in(part, spec.type);
      for (int64_t begin = 0; begin < rows; begin += kCheckpointIdPiece) {
        const int64_t count = std::min(kCheckpointIdPiece, rows - begin);
        std::vector<std::byte> bytes;
        try {
          client_.On(*peer, "reading orig_id", client_.options_.timeout,
                     [&](CheckpointClient::Peer& at) {
                       auto request = at.graph().sliceRequest();
                       request.setPart(part);
                       request.setIsEdge(is_edge);
                       request.setType(spec.type);
                       request.setName(kOriginalIdFeature);
                       request.setBegin(begin);
                       request.setCount(count);
                       return request.send().then(
                           [&](auto&& answer) { bytes = CopyBytes(answer.getRows()); });
                     });
        } catch (const Error& error) {
          if (error.code() == ErrorCode::kNotFound) return {};
          throw;
        }
        CheckBytes(peer->name, "bytes of original ids", bytes.size(),
                   static_cast<size_t>(count) * sizeof(int64_t));
        const auto* ids = reinterpret_cast<const int64_t*>(bytes.data());
        for (size_t i = 0; i < static_cast<size_t>(count); i++) {
          pairs.emplace_back(ids[i],
                             map.FromLocalRow(part, spec.type, begin + static_cast<int64_t>(i)));
        }
      }
    }
  }
  std::sort(pairs.begin(), pairs.end());
  return pairs;
}

void CheckpointRestore::VerifyFiles(const std::string& name,
                                    const std::vector<const CheckpointTensor*>& tensors) {
  if (tensors.empty()) return;
  const CheckpointClient::Found found = client_.FindOne(name);
  for (const auto& [part, peer] : found.places) {
    client_.On(*peer, "verifying a checkpoint", kDiskLimit,
               [&, part = part](CheckpointClient::Peer& at) {
                 auto request = at.checkpoints().readRowsRequest();
                 request.setName(name);
                 request.setPart(part);
                 request.setTensor(tensors.front()->spec.name);
                 return request.send().ignoreResult();
               });
  }
}

CheckpointRestore::TensorLoader CheckpointRestore::OpenTensor(const Checkpoint& checkpoint,
                                                              const CheckpointTensor& tensor) {
  const std::shared_ptr<const GraphMeta>& meta = client_.meta_;
  TensorSpec spec = tensor.spec;
  if (spec.type < 0) {
    Throw(ErrorCode::kInvalid, "tensor '", spec.name, "' of checkpoint '", checkpoint.name,
          "' belongs to a type that graph '", meta->graph_name, "' does not have");
  }
  CheckTensorSpec(*meta, spec);
  std::random_device random;
  TensorLoader loader{client_, checkpoint, spec,    RowsOf(meta, spec), {}, {},
                      {},      random(),   random()};
  const auto parts = static_cast<size_t>(meta->book.num_partitions());
  loader.tables.resize(parts);
  loader.owners.resize(parts);
  if (spec.policy != TensorPolicy::kRange) loader.current = CurrentIds(spec);
  loader.Open(tensor.state);
  return loader;
}

void CheckpointRestore::Restore(const std::string& name, const std::vector<std::string>& names,
                                bool keep_leases) {
  const Checkpoint checkpoint = client_.Find(name);
  const std::vector<const CheckpointTensor*> chosen = ChooseTensors(checkpoint, names);
  std::vector<TensorLoader> loaders;
  for (const CheckpointTensor* tensor : chosen) loaders.push_back(OpenTensor(checkpoint, *tensor));
  VerifyFiles(name, chosen);
  // Up to here no row of a tensor has changed.
  for (TensorLoader& loader : loaders) loader.SetLoading(true);
  for (size_t i = 0; i < loaders.size(); i++) {
    client_.EachRows(checkpoint, *chosen[i],
                     [&](const CheckpointClient::Rows& rows) { loaders[i].Load(rows); });
  }
  for (TensorLoader& loader : loaders) loader.SetLoading(false);
  if (keep_leases) return;
  for (TensorLoader& loader : loaders) {
    for (size_t part = 0; part < loader.tables.size(); part++) {
      loader.Lease(*loader.owners[part], loader.tables[part], false);
    }
  }
}

}  // namespace graphd
