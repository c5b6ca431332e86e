// SPDX-License-Identifier: Apache-2.0
#include "daemon/checkpoints/checkpoint_service.h"

#include <fcntl.h>
#include <xxhash.h>

#include <algorithm>
#include <cstring>
#include <mutex>
#include <set>

#include "base/file.h"
#include "base/strings.h"
#include "store/checkpoint/reader.h"
#include "wire/tensor_messages.h"

namespace graphd {
namespace {

constexpr const char* kOriginalIds = "orig_id";
constexpr uint64_t kMaxPiece = uint64_t{64} << 20;  // bytes in one answer

using store::CheckpointSet;

struct Kept {
  TensorShare share;
  std::string table;  // its name in the store
};

// The persistent tensors of these names, or all. Throws Error(kNotFound).
std::vector<Kept> ChooseShares(const store::TensorHost& host, std::set<std::string> names) {
  const bool all = names.empty();
  std::vector<Kept> chosen;
  for (TensorShare& share : host.ListAll()) {
    const TensorSpec& spec = share.info.spec;
    if (!spec.persistent || !(all || names.contains(spec.name))) continue;
    if (!share.trouble.empty()) {
      Throw(ErrorCode::kCorrupt, "tensor '", spec.name, "' can't be kept: ", share.trouble);
    }
    const std::string table = store::TableName(share.part, "", spec.name);
    chosen.push_back({std::move(share), table});
  }
  for (const Kept& each : chosen) names.erase(each.share.info.spec.name);
  if (!names.empty()) {
    Throw(ErrorCode::kNotFound, "there is no persistent tensor '", *names.begin(), "'");
  }
  return chosen;
}

std::string OriginalIdsPath(const std::string& data, PartId part, bool is_edge, int32_t type) {
  return StrCat(data, "/orig_id-", is_edge ? "edge" : "node", "-", type, "-part-", part);
}

// int64 per row, and a checksum of them.
void WriteOriginalIds(const ServedGraph& graph, const std::string& data,
                      const std::vector<Kept>& kept) {
  for (const Kept& each : kept) {
    const TensorSpec& spec = each.share.info.spec;
    if (spec.policy == TensorPolicy::kRange) continue;
    const bool is_edge = spec.policy == TensorPolicy::kEdge;
    const std::string path = OriginalIdsPath(data, each.share.part, is_edge, spec.type);
    const auto partition = graph.Find(each.share.part);
    const auto& features =
        is_edge ? partition->edge_features(spec.type) : partition->node_features(spec.type);
    const bool there = std::any_of(features.begin(), features.end(), [](const FeatureInfo& info) {
      return info.name == kOriginalIds && info.dtype == DType::kInt64 && info.row_shape.empty();
    });
    if (!there || FileExists(path)) continue;
    const Tensor& ids = FindFeature(*partition, is_edge, spec.type, kOriginalIds);
    const size_t bytes = static_cast<size_t>(ids.num_rows()) * sizeof(int64_t);
    std::string text(reinterpret_cast<const char*>(ids.data()), bytes);
    const uint64_t checksum = XXH3_64bits(text.data(), text.size());
    text.append(reinterpret_cast<const char*>(&checksum), sizeof checksum);
    WriteFileAtomically(path, text);
  }
  SyncDirectory(data);
}

std::vector<std::byte> ReadOriginalIds(const std::string& path) {
  const uint64_t size = FileSize(path);
  std::vector<std::byte> bytes(size);
  ReadExactly(OpenFile(path, O_RDONLY).get(), 0, bytes, path);
  uint64_t checksum = 0;
  if (size % sizeof(int64_t) != 0 || size < sizeof checksum) {
    Throw(ErrorCode::kCorrupt, path, " has ", size, " bytes");
  }
  std::memcpy(&checksum, bytes.data() + size - sizeof checksum, sizeof checksum);
  bytes.resize(size - sizeof checksum);
  if (checksum != XXH3_64bits(bytes.data(), bytes.size())) {
    Throw(ErrorCode::kCorrupt, path, ": its checksum is wrong");
  }
  return bytes;
}

store::ShareRecord RecordOf(const store::TableSpec& spec) {
  return store::DecodeRecord(spec, spec.attributes);
}

// Where one partition's share of a tensor is. Throws Error(kNotFound).
struct Place {
  std::shared_ptr<CheckpointSet> set;
  store::TableSpec table;
};
Place FindPlace(store::CheckpointCatalog& shelf, const std::string& name, PartId part,
                const std::string& tensor) {
  store::CheckCheckpointName(name);
  for (const auto& set : shelf.All()) {
    if (!set->Has(name)) continue;
    for (store::TableSpec& table : set->Open(name)->tables()) {
      const store::ShareRecord record = RecordOf(table);
      if (record.part == part && record.spec.name == tensor) return {set, std::move(table)};
    }
  }
  Throw(ErrorCode::kNotFound, "checkpoint '", name, "' has no partition ", part, " of tensor '",
        tensor, "' on this machine");
}

// work() on a thread of `saves`, then answer(results).
template <class Context, class Work, class Answer>
kj::Promise<void> OnSaves(const CheckpointClientOf& client, Context& context, Work work,
                          Answer answer) {
  return AsKj([&] {
    auto count = client.calls->Enter();
    return client.context.saves
        .Run(1, [work = std::move(work)](size_t, WorkerScratch&) mutable { work(); })
        .then([context, answer = std::move(answer)]() mutable {
          AsKj([&] { answer(context.getResults()); });
        })
        .attach(kj::mv(count));
  });
}

template <class Context, class Work>
kj::Promise<void> OnSaves(const CheckpointClientOf& client, Context& context, Work work) {
  return OnSaves(client, context, std::move(work), [](auto) {});
}

// A part of an answer: read by a thread of `saves`, sent by the connection's, which knows how much
// the client has let pile up.
struct Bytes {
  PooledBuffer buffer;
  size_t size = 0;

  void Resize(BufferPool& pool, size_t bytes) {
    CheckResponse(bytes);
    buffer = pool.Get(bytes + 8);
    size = bytes;
  }
  void Copy(BufferPool& pool, std::span<const std::byte> from) {
    Resize(pool, from.size());
    std::copy(from.begin(), from.end(), buffer.data());
  }
  template <class Results>
  capnp::Orphan<capnp::Data> Send(Outbox& outbox, Results& results, Outbox::Room room) {
    return AdoptBuffer(outbox, capnp::Orphanage::getForMessageContaining(results),
                       std::move(buffer), size, std::move(room));
  }
};

struct MakingState {
  std::mutex mutex;  // a step at a time
  std::unique_ptr<CheckpointSet::Making> making;
  std::vector<Kept> kept;
  std::unique_ptr<store::WriteBarrierHold> hold;
  bool taken = false;
};

class MakingService final : public wire::Making::Server {
 public:
  MakingService(CheckpointClientOf client, std::shared_ptr<MakingState> state)
      : client_(std::move(client)), context_(client_.context), state_(std::move(state)) {}
  // To end a hold and to remove files takes a while.
  ~MakingService() {
    try {
      context_.saves.Run(1, [state = std::move(state_)](size_t, WorkerScratch&) mutable {
        std::lock_guard lock(state->mutex);
        state->hold.reset();
        state->making.reset();
      });
    } catch (const Error&) {          // the daemon ends; with the last owner it goes, too
    } catch (const kj::Exception&) {  // likewise, and this thread has no event loop any more
    }
  }

 protected:
  kj::Promise<void> hold(HoldContext context) override {
    return OnSaves(client_, context, [state = state_, &host = context_.tensors] {
      std::lock_guard lock(state->mutex);
      if (state->hold || state->taken)
        Throw(ErrorCode::kInvalid, "this checkpoint was held before");
      state->hold = host.store().HoldPushes();
    });
  }

  kj::Promise<void> take(TakeContext context) override {
    auto bytes = std::make_shared<uint64_t>(0);
    return OnSaves(
        client_, context,
        [state = state_, &context = context_, bytes] {
          std::lock_guard lock(state->mutex);
          if (!state->hold) Throw(ErrorCode::kInvalid, "pushes are not held for this checkpoint");
          std::vector<std::string> tables;
          for (const Kept& each : state->kept) tables.push_back(each.table);
          const std::string data = state->making->data_directory();
          const auto specs = context.tensors.store().WriteCheckpoint(data, tables, *state->hold);
          state->hold.reset();
          for (size_t i = 0; i < specs.size(); i++) {
            state->kept[i].share.info.state = specs[i].state;
          }
          WriteOriginalIds(context.graph, data, state->kept);
          state->taken = true;
          *bytes = state->making->Bytes();
        },
        [state = state_, bytes](TakeResults::Builder results) {
          auto out = results.initTensors(static_cast<kj::uint>(state->kept.size()));
          for (kj::uint i = 0; i < out.size(); i++) WriteShare(state->kept[i].share, out[i]);
          results.setBytes(*bytes);
        });
  }

  kj::Promise<void> addFile(AddFileContext context) override {
    auto params = context.getParams();
    const auto data = params.getData();
    auto copy = std::make_shared<std::vector<std::byte>>(data.size());
    std::copy_n(reinterpret_cast<const std::byte*>(data.begin()), data.size(), copy->data());
    return OnSaves(client_, context,
                   [state = state_, copy, file = std::string(params.getFile().cStr()),
                    offset = params.getOffset()] {
                     std::lock_guard lock(state->mutex);
                     state->making->AddFile(file, offset, *copy);
                   });
  }

  kj::Promise<void> commit(CommitContext context) override {
    return OnSaves(client_, context,
                   [state = state_, manifest = std::string(context.getParams().getManifest())] {
                     std::lock_guard lock(state->mutex);
                     if (!state->taken)
                       Throw(ErrorCode::kInvalid, "there is nothing to commit yet");
                     state->making->Commit(manifest);
                   });
  }

 private:
  const CheckpointClientOf client_;
  ServiceContext& context_;
  std::shared_ptr<MakingState> state_;
};

}  // namespace

kj::Promise<void> CheckpointService::prepare(PrepareContext context) {
  auto params = context.getParams();
  std::set<std::string> names;
  for (const auto name : params.getTensors()) names.insert(name.cStr());
  auto state = std::make_shared<MakingState>();
  return OnSaves(
      client_, context,
      [state, names, &context = context_, name = std::string(params.getName().cStr()),
       id = std::string(params.getId().cStr())] {
        std::lock_guard lock(state->mutex);
        state->kept = ChooseShares(context.tensors, names);
        state->making = context.checkpoints.own().Begin(name, id);
        context.tensors.store().PrepareCheckpoint();
      },
      [this, state](PrepareResults::Builder results) {
        results.setMaking(kj::heap<MakingService>(client_, state));
      });
}

kj::Promise<void> CheckpointService::list(ListContext context) {
  auto found = std::make_shared<std::vector<CheckpointSet::Entry>>();
  return OnSaves(
      client_, context,
      [found, &shelf = context_.checkpoints] {
        for (const auto& set : shelf.All()) {
          for (CheckpointSet::Entry& entry : set->List()) found->push_back(std::move(entry));
        }
      },
      [found](ListResults::Builder results) {
        auto out = results.initCheckpoints(static_cast<kj::uint>(found->size()));
        for (kj::uint i = 0; i < out.size(); i++) {
          const CheckpointSet::Entry& entry = (*found)[i];
          out[i].setName(entry.name);
          out[i].setId(entry.id);
          out[i].setManifest(entry.manifest);
          out[i].setBytes(entry.bytes);
          out[i].setTrouble(entry.trouble);
          std::set<PartId> parts;
          for (const store::TableSpec& table : entry.tables) parts.insert(RecordOf(table).part);
          auto list = out[i].initParts(static_cast<kj::uint>(parts.size()));
          kj::uint at = 0;
          for (const PartId part : parts) list.set(at++, part);
        }
      });
}

kj::Promise<void> CheckpointService::readRows(ReadRowsContext context) {
  struct Rows {
    Bytes values, states;
  };
  auto params = context.getParams();
  auto rows = std::make_shared<Rows>();
  return OnSaves(
      client_, context,
      [rows, &shelf = context_.checkpoints, &pool = *context_.buffers,
       name = std::string(params.getName().cStr()), part = params.getPart(),
       tensor = std::string(params.getTensor().cStr()), begin = params.getBegin(),
       wanted = params.getCount()] {
        const Place place = FindPlace(shelf, name, part, tensor);
        const store::TableSpec& table = place.table;
        if (begin < 0 || wanted < 0) Throw(ErrorCode::kInvalid, "rows ", begin, " + ", wanted);
        const size_t state_floats = store::StateFloats(table.state, table.row_elements());
        const size_t most = kMaxPiece / (table.row_bytes() + state_floats * sizeof(float)) + 1;
        const int64_t count = std::min(
            {wanted, table.rows - std::min(begin, table.rows), static_cast<int64_t>(most)});
        const size_t floats = static_cast<size_t>(count) * state_floats;
        rows->values.Resize(pool, static_cast<size_t>(count) * table.row_bytes());
        rows->states.Resize(pool, floats * sizeof(float));
        if (count == 0) return;
        place.set->Open(name)->ReadRows(
            table.name, begin, count, rows->values.buffer.first(rows->values.size),
            {reinterpret_cast<float*>(rows->states.buffer.data()), floats});
      },
      [rows, outbox = client_.outbox](ReadRowsResults::Builder results) {
        Outbox::Room room = outbox->Reserve(rows->values.size + rows->states.size);
        results.adoptRows(rows->values.Send(*outbox, results, room.Take(rows->values.size)));
        results.adoptStates(rows->states.Send(*outbox, results, std::move(room)));
      });
}

kj::Promise<void> CheckpointService::readFile(ReadFileContext context) {
  auto params = context.getParams();
  auto data = std::make_shared<Bytes>();
  return OnSaves(
      client_, context,
      [data, &shelf = context_.checkpoints, &pool = *context_.buffers,
       name = std::string(params.getName().cStr()), file = std::string(params.getFile().cStr()),
       offset = params.getOffset(), count = params.getCount()] {
        store::CheckCheckpointName(name);
        for (const auto& set : shelf.All()) {
          if (!set->Has(name) || !set->HasFile(name, file)) continue;
          data->Copy(pool, set->ReadFile(name, file, offset, std::min(count, kMaxPiece)));
          return;
        }
        Throw(ErrorCode::kNotFound, "checkpoint '", name, "' has no file '", file, "' here");
      },
      [data, outbox = client_.outbox](ReadFileResults::Builder results) {
        results.adoptData(data->Send(*outbox, results, outbox->Reserve(data->size)));
      });
}

kj::Promise<void> CheckpointService::delete_(DeleteContext context) {
  return OnSaves(
      client_, context,
      [&shelf = context_.checkpoints, name = std::string(context.getParams().getName().cStr())] {
        store::CheckCheckpointName(name);
        for (const auto& set : shelf.All()) {
          if (set->Has(name)) set->Delete(name);
        }
      });
}

kj::Promise<void> CheckpointService::originalIds(OriginalIdsContext context) {
  auto params = context.getParams();
  auto ids = std::make_shared<Bytes>();
  return OnSaves(
      client_, context,
      [ids, &shelf = context_.checkpoints, &pool = *context_.buffers,
       name = std::string(params.getName().cStr()), part = params.getPart(),
       tensor = std::string(params.getTensor().cStr()), first = params.getBegin(),
       count = params.getCount()] {
        const Place place = FindPlace(shelf, name, part, tensor);
        const TensorSpec spec = RecordOf(place.table).spec;
        const std::string path = OriginalIdsPath(place.set->DataDirectory(name), part,
                                                 spec.policy == TensorPolicy::kEdge, spec.type);
        std::vector<std::byte> whole;
        if (spec.policy != TensorPolicy::kRange && FileExists(path)) whole = ReadOriginalIds(path);
        const auto all = static_cast<int64_t>(whole.size() / sizeof(int64_t));
        const int64_t begin = std::clamp<int64_t>(first, 0, all);
        const int64_t wanted = std::clamp<int64_t>(count, 0, all - begin);
        ids->Copy(pool, std::span(whole).subspan(static_cast<size_t>(begin) * sizeof(int64_t),
                                                 static_cast<size_t>(wanted) * sizeof(int64_t)));
      },
      [ids, outbox = client_.outbox](OriginalIdsResults::Builder results) {
        results.adoptIds(ids->Send(*outbox, results, outbox->Reserve(ids->size)));
      });
}

kj::Promise<void> CheckpointService::loading(LoadingContext context) {
  auto params = context.getParams();
  return OnSaves(client_, context,
                 [&host = context_.tensors, job = client_.job, table = params.getTable(),
                  on = params.getOn()] { host.SetLoading(job, table, on); });
}

kj::Promise<void> GraphSession::checkpoints(CheckpointsContext context) {
  context.getResults().setService(kj::heap<CheckpointService>(
      CheckpointClientOf{context_, membership_->job_id(), calls_, outbox_}));
  return kj::READY_NOW;
}

}  // namespace graphd
