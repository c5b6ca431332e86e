// SPDX-License-Identifier: Apache-2.0
#include "daemon/checkpoints/checkpoint_service.h"

#include <algorithm>
#include <climits>
#include <set>

#include "base/file.h"
#include "base/strings.h"
#include "daemon/checkpoints/checkpoint_page.h"
#include "daemon/checkpoints/making_service.h"
#include "daemon/checkpoints/original_ids.h"
#include "daemon/requests/wire_ids.h"
#include "graph/tensor_rows.h"
#include "store/checkpoint/reader.h"
#include "wire/bounded.h"

namespace graphd {
namespace {

constexpr uint64_t kMaxAnswerBytes = uint64_t{64} << 20;
// The largest number of tensors that a client may name for a checkpoint; no daemon has more.
constexpr kj::uint kMaxTensors = store::StoreOptions::kMostTables;

// Returns the names of the tensors that a client wants to be saved. Their sizes are checked before
// they are copied, because a short message can name a long text many times.
std::set<std::string> ReadNames(capnp::List<capnp::Text>::Reader in) {
  if (in.size() > kMaxTensors) {
    Throw(ErrorCode::kInvalid, "a checkpoint of ", in.size(), " tensors is wanted; at most ",
          kMaxTensors, " are possible");
  }
  std::set<std::string> names;
  for (const auto name : in) {
    names.insert(BoundedText(name, kMaxTensorName, "a tensor's name"));
  }
  return names;
}

// Return a name from a request. Used on the data thread, in a callback of KJ.
std::string NameOf(capnp::Text::Reader in) {
  return AsKj([&] { return BoundedText(in, store::kMaxCheckpointName, "a checkpoint's name"); });
}
std::string AfterOf(capnp::Text::Reader in) {
  return AsKj([&] { return BoundedText(in, NAME_MAX, "the name of a checkpoint before"); });
}
std::string TensorOf(capnp::Text::Reader in) {
  return AsKj([&] { return BoundedText(in, kMaxTensorName, "a tensor's name"); });
}

using store::CheckpointSet;

store::ShareRecord RecordOf(const store::TableSpec& spec) {
  return store::DecodeRecord(spec, spec.attributes);
}

// The table of a checkpoint that holds one partition's share of a tensor.
struct ShareLocation {
  std::shared_ptr<CheckpointSet> set;
  store::TableSpec table;
};

// Throws Error(kNotFound).
ShareLocation FindShare(store::CheckpointCatalog& catalog, const std::string& name, PartId part,
                        const std::string& tensor) {
  store::CheckCheckpointName(name);
  for (const auto& set : catalog.All()) {
    if (!set->Has(name)) continue;
    for (store::TableSpec& table : set->Open(name)->tables()) {
      const store::ShareRecord record = RecordOf(table);
      if (record.part == part && record.spec.name == tensor) return {set, std::move(table)};
    }
  }
  Throw(ErrorCode::kNotFound, "checkpoint '", name, "' has no partition ", part, " of tensor '",
        tensor, "' on this machine");
}

// An array of an answer. The pool `saves` reads it from the disk. The data thread sends it, because
// only that thread knows how much the client has not read yet.
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

}  // namespace

kj::Promise<void> CheckpointService::prepare(PrepareContext context) {
  AsKj([&] { context_.requests->Require(Role::kWriter, "make checkpoints"); });
  auto params = context.getParams();
  const std::set<std::string> names = AsKj([&] { return ReadNames(params.getTensors()); });
  // The making has an account of its own. If it were charged to the connection's account, the
  // connection would lose a right: one with nothing charged to its account can always send short
  // messages.
  const auto& account = context_.requests->buffers()->account();
  auto making = std::make_shared<CheckpointMaking>(
      context_.graph, context_.tensors,
      MemoryCharge(account == nullptr ? nullptr : account->Sibling("the checkpoint it makes")));
  return context_.RunOnSaves(
      context_.requests->Begin("checkpoint prepare"), context,
      [making, names, &catalog = context_.catalog, name = NameOf(params.getName()),
       id = CopyOf(params.getId(), CheckpointSet::kMaxId)] {
        making->Prepare(catalog, name, id, names);
      },
      [this, making](PrepareResults::Builder results) {
        auto count = context_.requests->CountCapability();
        results.setMaking(kj::heap<MakingService>(context_, making).attach(std::move(count)));
      });
}

kj::Promise<void> CheckpointService::list(ListContext context) {
  auto page = std::make_shared<CheckpointPage>(context_.requests->NewCharge());
  return context_.RunOnSaves(
      context_.requests->Begin("checkpoint list"), context,
      [page, &catalog = context_.catalog, after = AfterOf(context.getParams().getAfter())] {
        page->Fill(catalog, after);
      },
      [page](ListResults::Builder results) { page->Write(results); });
}

kj::Promise<void> CheckpointService::readRows(ReadRowsContext context) {
  struct Rows {
    Bytes values, states;
  };
  auto params = context.getParams();
  auto rows = std::make_shared<Rows>();
  return context_.RunOnSaves(
      context_.requests->Begin("checkpoint read"), context,
      [rows, &catalog = context_.catalog, &pool = *context_.requests->buffers(),
       name = NameOf(params.getName()), part = params.getPart(),
       tensor = TensorOf(params.getTensor()), begin = params.getBegin(),
       wanted = params.getCount()] {
        const ShareLocation share = FindShare(catalog, name, part, tensor);
        const store::TableSpec& table = share.table;
        if (begin < 0 || wanted < 0)
          Throw(ErrorCode::kInvalid, "the request has an invalid range of rows: from ", begin,
                ", count ", wanted);
        const size_t state_floats = store::StateFloats(table.state, table.row_elements());
        const size_t most =
            kMaxAnswerBytes / (table.row_bytes() + state_floats * sizeof(float)) + 1;
        const int64_t count = std::min(
            {wanted, table.rows - std::min(begin, table.rows), static_cast<int64_t>(most)});
        const size_t floats = static_cast<size_t>(count) * state_floats;
        rows->values.Resize(pool, static_cast<size_t>(count) * table.row_bytes());
        rows->states.Resize(pool, floats * sizeof(float));
        if (count == 0) return;
        share.set->Open(name)->ReadRows(
            table.name, begin, count, rows->values.buffer.first(rows->values.size),
            {reinterpret_cast<float*>(rows->states.buffer.data()), floats});
      },
      [rows, outbox = context_.requests->outbox()](ReadRowsResults::Builder results) {
        Outbox::Room room = outbox->Reserve(rows->values.size + rows->states.size);
        results.adoptRows(rows->values.Send(*outbox, results, room.Take(rows->values.size)));
        results.adoptStates(rows->states.Send(*outbox, results, std::move(room)));
      });
}

kj::Promise<void> CheckpointService::readFile(ReadFileContext context) {
  auto params = context.getParams();
  auto data = std::make_shared<Bytes>();
  return context_.RunOnSaves(
      context_.requests->Begin("checkpoint read_file"), context,
      [data, &catalog = context_.catalog, &pool = *context_.requests->buffers(),
       name = NameOf(params.getName()), file = KeptFileOf(params.getFile()),
       offset = params.getOffset(), count = params.getCount()] {
        store::CheckCheckpointName(name);
        for (const auto& set : catalog.All()) {
          if (!set->Has(name) || !set->HasFile(name, file)) continue;
          data->Copy(pool, set->ReadFile(name, file, offset, std::min(count, kMaxAnswerBytes)));
          return;
        }
        Throw(ErrorCode::kNotFound, "checkpoint '", name, "' has no file '", file, "' here");
      },
      [data, outbox = context_.requests->outbox()](ReadFileResults::Builder results) {
        results.adoptData(data->Send(*outbox, results, outbox->Reserve(data->size)));
      });
}

kj::Promise<void> CheckpointService::delete_(DeleteContext context) {
  AsKj([&] { context_.requests->Require(Role::kOperator, "delete checkpoints"); });
  return context_.RunOnSaves(
      context_.requests->Begin("checkpoint delete"), context,
      [&catalog = context_.catalog, name = NameOf(context.getParams().getName())] {
        store::CheckCheckpointName(name);
        for (const auto& set : catalog.All()) {
          if (set->Has(name)) set->Delete(name);
        }
      });
}

kj::Promise<void> CheckpointService::originalIds(OriginalIdsContext context) {
  auto params = context.getParams();
  auto ids = std::make_shared<Bytes>();
  return context_.RunOnSaves(
      context_.requests->Begin("checkpoint original_ids"), context,
      [ids, &catalog = context_.catalog, &pool = *context_.requests->buffers(),
       name = NameOf(params.getName()), part = params.getPart(),
       tensor = TensorOf(params.getTensor()), first = params.getBegin(),
       count = params.getCount()] {
        const ShareLocation share = FindShare(catalog, name, part, tensor);
        const TensorSpec spec = RecordOf(share.table).spec;
        const std::string path = OriginalIdsPath(share.set->DataDirectory(name), part,
                                                 spec.policy == TensorPolicy::kEdge, spec.type);
        if (spec.policy == TensorPolicy::kRange || !FileExists(path)) return;
        const int64_t all = CountOriginalIds(path);
        const int64_t begin = std::clamp<int64_t>(first, 0, all);
        const int64_t wanted = std::clamp<int64_t>(count, 0, all - begin);
        ids->Resize(pool, static_cast<size_t>(wanted) * sizeof(int64_t));
        ReadOriginalIds(path, begin, ids->buffer.first(ids->size));
      },
      [ids, outbox = context_.requests->outbox()](OriginalIdsResults::Builder results) {
        results.adoptIds(ids->Send(*outbox, results, outbox->Reserve(ids->size)));
      });
}

kj::Promise<void> CheckpointService::loading(LoadingContext context) {
  AsKj([&] { context_.requests->Require(Role::kOperator, "restore checkpoints"); });
  auto params = context.getParams();
  return context_.RunOnSaves(
      context_.requests->Begin("checkpoint loading"), context,
      [&host = context_.tensors, job = context_.job, table = params.getTable(),
       on = params.getOn()] { host.SetLoading(job, table, on); });
}

}  // namespace graphd
