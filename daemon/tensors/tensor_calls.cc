// SPDX-License-Identifier: Apache-2.0
// Distributed tensors: making, reading and changing them.
#include <algorithm>
#include <cstring>
#include <random>

#include "base/strings.h"
#include "daemon/requests/segment_handle.h"
#include "daemon/serving/graph_session.h"
#include "wire/tensor_messages.h"

namespace graphd {
namespace {

using store::TensorHost;

// A slice of a read, in bytes.
constexpr size_t kReadSlice = size_t{1} << 20;
// Reading and changing rows costs more than their bytes: an access to memory each.
constexpr size_t kWorkPerRow = 64;
// A push that waits this long is asked after.
constexpr auto kLongPush = 5 * kj::SECONDS;

store::UpdateRule ReadRule(wire::UpdateRule::Reader in) {
  store::UpdateRule rule;
  rule.kind = static_cast<store::UpdateKind>(in.getKind());
  rule.mean_of_duplicates = in.getMeanOfDuplicates() ? 1 : 0;
  rule.lr = in.getLr();
  rule.eps = in.getEps();
  rule.beta1 = in.getBeta1();
  rule.beta2 = in.getBeta2();
  rule.weight_decay = in.getWeightDecay();
  return rule;
}

std::string NameOf(const TensorHost::SharePtr& share) { return share->record.spec.name; }

// What Open gave, on its way to the client. One that has gone meanwhile will not fill the tensor.
struct OpenedFor {
  TensorHost& host;
  TensorHost::Caller caller;
  TensorHost::Opened opened = {};
  bool told = false;

  ~OpenedFor() {
    if (opened.fill && !told) host.GiveUpFilling(caller, opened.share.table);
  }
};

// A promise that a call back on another thread fulfils.
struct Completion {
  kj::Promise<void> promise;
  store::Pipeline::Done done;
};
Completion NewCompletion() {
  auto pair = kj::newPromiseAndCrossThreadFulfiller<void>();
  auto fulfiller = std::make_shared<decltype(pair.fulfiller)>(kj::mv(pair.fulfiller));
  return {kj::mv(pair.promise), [fulfiller](const Error* error) {
            if (error == nullptr) return (*fulfiller)->fulfill();
            (*fulfiller)->reject(ToKj(*error));
          }};
}

}  // namespace

// Rows to be changed, and with what; owns or keeps all of it until it is done.
struct GraphSession::Change {
  TensorHost::SharePtr share;
  WireIds ids;
  store::Push push;
  std::vector<int64_t> rows;
  std::shared_ptr<const void> owner;  // of push.payload
  PooledBuffer copy;                  // of a small payload

  // On whichever thread applies it.
  void ToRows() {
    ids.CopyRows(0, ids.size(), *share->rows.map, share->record.part, share->rows.type, rows);
    push.rows = rows;
  }
};

template <class Params>
std::shared_ptr<GraphSession::Change> GraphSession::TakeChange(const Params& params) {
  const auto rule = params.getRule();
  const bool loads = rule.getKind() == static_cast<uint8_t>(store::UpdateKind::kLoad);
  auto share = context_.tensors.FindToWrite(membership_->job_id(), params.getTable(), loads);
  WireIds taken(params.getIds(), share->rows.total(), *context_.buffers);
  auto change =
      std::make_shared<Change>(Change{std::move(share), std::move(taken), {}, {}, nullptr, {}});
  change->push.rule = ReadRule(rule);
  TakePayload(params.getPayload(), params.getShared(), *change);
  return change;
}

void GraphSession::TakePayload(capnp::Data::Reader payload, wire::SharedPayload::Reader shared,
                               Change& change) {
  if (shared.getMemory() != 0) {
    if (push_memory_ == nullptr || shared.getMemory() != push_memory_id_) {
      // Of a session that was lost meanwhile; the client sends it again.
      Throw(ErrorCode::kUnavailable, "the payload is in memory of another session");
    }
    const uint64_t offset = shared.getOffset(), bytes = shared.getBytes();
    if (offset % PushMemory::kAlignment != 0 || offset > PushMemory::kBytes ||
        bytes > PushMemory::kBytes - offset) {
      Throw(ErrorCode::kInvalid, "a payload of ", bytes, " bytes at ", offset,
            " is not in the memory for it");
    }
    change.push.payload = {push_memory_->data() + offset, bytes};
    change.owner = push_memory_;
    return;
  }
  change.push.payload = {reinterpret_cast<const std::byte*>(payload.begin()), payload.size()};
  change.owner = inbox_->Keep(payload.begin(), payload.size());
  if (!change.owner && payload.size() > 0) {
    change.copy = context_.buffers->Get(payload.size());
    std::memcpy(change.copy.data(), payload.begin(), payload.size());
    change.push.payload = change.copy.first(payload.size());
  }
}

kj::Promise<void> GraphSession::pushMemory(PushMemoryContext context) {
  return Guarded(context, [&]() -> kj::Promise<void> {
    if (!is_unix_) Throw(ErrorCode::kDenied, "memory is shared over the Unix socket only");
    if (push_memory_ == nullptr) {
      push_memory_ = std::make_shared<PushMemory>();
      while (push_memory_id_ == 0) {
        std::random_device random;
        push_memory_id_ = uint64_t{random()} << 32 | random();
      }
    }
    auto results = context.getResults();
    results.setHandle(kj::heap<SegmentHandleImpl>(push_memory_, push_memory_->fd()));
    results.setId(push_memory_id_);
    return kj::READY_NOW;
  });
}

kj::Promise<void> GraphSession::ExecuteOnRows(ComputePool& pool, size_t work, size_t num_slices,
                                              ComputePool::Slice run) {
  if (context_.tensors.memory_is_bounded()) return pool.Run(num_slices, std::move(run));
  return Execute(work, num_slices, std::move(run));
}

kj::Promise<void> GraphSession::FailIfStalled(std::string tensor) {
  return timer_.afterDelay(kLongPush).then([this, tensor]() -> kj::Promise<void> {
    const std::string why = context_.tensors.trouble();
    if (why.empty()) return FailIfStalled(tensor);
    return ToKj(Error(ErrorCode::kUnavailable,
                      StrCat("tensor '", tensor, "' can't be changed for now: ", why,
                             "; what was sent is done as soon as it can be")));
  });
}

kj::Promise<void> GraphSession::push(PushContext context) {
  return Guarded(context, [&]() -> kj::Promise<void> {
    auto params = context.getParams();
    auto change = TakeChange(params);
    change->push.client = {params.getClient().getHigh(), params.getClient().getLow()};
    change->push.sequence = params.getSequence();
    context.releaseParams();
    Completion completion = NewCompletion();
    const std::string tensor = NameOf(change->share);
    return ExecuteOnRows(context_.changes, change->ids.size() * kWorkPerRow, 1,
                         [&host = context_.tensors, job = membership_->job_id(), change,
                          done = std::move(completion.done)](size_t, WorkerScratch&) {
                           change->ToRows();
                           // The change stays until it is done: `done` holds it.
                           host.Submit(job, change->share, change->push,
                                       [change, done](const Error* error) { done(error); });
                         })
        .then([promise = kj::mv(completion.promise)]() mutable { return kj::mv(promise); })
        .exclusiveJoin(FailIfStalled(tensor));
  });
}

kj::Promise<void> GraphSession::stage(StageContext context) {
  return Guarded(context, [&]() -> kj::Promise<void> {
    auto params = context.getParams();
    if (membership_->role() == JobRole::kLauncher) {
      Throw(ErrorCode::kInvalid, "only trainers take part in steps");
    }
    auto change = TakeChange(params);
    const uint64_t step = params.getStep();
    context.releaseParams();
    Completion completion = NewCompletion();
    const std::string tensor = NameOf(change->share);
    return ExecuteOnRows(context_.changes,
                         change->push.payload.size() + change->ids.size() * kWorkPerRow, 1,
                         [this_job = membership_->job_id(), rank = membership_->rank(),
                          world_size = membership_->world_size(), &steps = context_.steps, change,
                          step, done = std::move(completion.done)](size_t, WorkerScratch&) {
                           change->ToRows();
                           steps.Bring(change->share, this_job, rank, world_size, change->push.rule,
                                       step, {change->rows, change->push.payload, change}, done);
                         })
        .then([promise = kj::mv(completion.promise)]() mutable { return kj::mv(promise); })
        .exclusiveJoin(FailIfStalled(tensor));
  });
}

kj::Promise<void> GraphSession::readRows(ReadRowsContext context) {
  return Guarded(context, [&]() -> kj::Promise<void> {
    auto params = context.getParams();
    struct Read {
      TensorHost::SharePtr share;
      WireIds ids;
      Outbox::Room room;
      PooledBuffer out;
      size_t row_bytes, rows_per_slice;
      uint64_t restores;

      void Run(size_t slice, std::vector<int64_t>& rows) {
        const size_t begin = slice * rows_per_slice;
        const size_t end = std::min(ids.size(), begin + rows_per_slice);
        ids.CopyRows(begin, end, *share->rows.map, share->record.part, share->rows.type, rows);
        share->table->Read(rows, out.data() + begin * row_bytes);
      }
      // Some rows might be those of before, and some the checkpoint's.
      void CheckNotRestored() const {
        if (restores % 2 == 0 && share->table->restores() == restores) return;
        Throw(ErrorCode::kUnavailable, "tensor '", NameOf(share),
              "' was restored from a checkpoint while it was read; read it again");
      }
    };
    auto share = context_.tensors.FindToRead(membership_->job_id(), params.getTable());
    WireIds ids(params.getIds(), share->rows.total(), *context_.buffers);
    const size_t count = ids.size(), row_bytes = share->record.spec.row_bytes();
    const size_t bytes = count * row_bytes;
    const uint64_t restores = share->table->restores();
    CheckResponse(bytes);
    auto read = std::make_shared<Read>(Read{
        std::move(share), std::move(ids), outbox_->Reserve(bytes), context_.buffers->Get(bytes + 8),
        row_bytes, std::max<size_t>(1, kReadSlice / row_bytes), restores});
    context.releaseParams();
    context_.graph.rows_served.fetch_add(count, std::memory_order_relaxed);
    const size_t slices = (count + read->rows_per_slice - 1) / read->rows_per_slice;
    return ExecuteOnRows(
               context_.reads, bytes + count * kWorkPerRow, slices,
               [read](size_t slice, WorkerScratch& scratch) { read->Run(slice, scratch.rows); })
        .then([this, context, read, bytes]() mutable {
          AsKj([&] {
            read->CheckNotRestored();
            auto results = context.getResults(capnp::MessageSize{16, 0});
            results.adoptRows(Adopt(capnp::Orphanage::getForMessageContaining(results),
                                    std::move(read->out), bytes, std::move(read->room)));
          });
        });
  });
}

kj::Promise<void> GraphSession::mapTensor(MapTensorContext context) {
  return Guarded(context, [&]() -> kj::Promise<void> {
    if (!is_unix_) Throw(ErrorCode::kDenied, "memory is shared over the Unix socket only");
    const auto share =
        context_.tensors.FindToRead(membership_->job_id(), context.getParams().getTable());
    const int fd = share->table->arena().reader_fd();
    context.getResults().setHandle(kj::heap<SegmentHandleImpl>(share->table, fd));
    return kj::READY_NOW;
  });
}

// What touches the disk is not for a data thread. Calls answer(results) afterwards.
template <class Context, class Work, class Answer>
kj::Promise<void> GraphSession::OnBuilds(Context& context, Work work, Answer answer) {
  return context_.builds
      .Run(1, [work = std::move(work)](size_t, WorkerScratch&) mutable { work(); })
      .then([context, answer = std::move(answer)]() mutable {
        AsKj([&] { answer(context.getResults()); });
      });
}

TensorHost::Caller GraphSession::caller() const {
  return {membership_->job_id(), membership_->key()};
}

kj::Promise<void> GraphSession::openTensor(OpenTensorContext context) {
  return Guarded(context, [&]() -> kj::Promise<void> {
    auto params = context.getParams();
    std::shared_ptr<OpenedFor> opened(new OpenedFor{context_.tensors, caller()});
    return OnBuilds(
        context,
        [opened, part = params.getPart(), spec = ReadTensorSpec(params.getSpec()),
         create = params.getCreate(), fills = params.getCallerFills()] {
          opened->opened = opened->host.Open(opened->caller, part, spec, create, fills);
        },
        [opened](OpenTensorResults::Builder results) {
          WriteShare(opened->opened.share, results.initInfo());
          results.setFill(opened->opened.fill);
          results.setFilling(opened->opened.filling);
          opened->told = true;
        });
  });
}

kj::Promise<void> GraphSession::filled(FilledContext context) {
  return Guarded(context, [&]() -> kj::Promise<void> {
    auto params = context.getParams();
    return OnBuilds(
        context,
        [caller = caller(), &host = context_.tensors, table = params.getTable(),
         given_up = params.getGivenUp()] {
          if (given_up) return host.GiveUpFilling(caller, table);
          host.Filled(caller, table);
        },
        [](auto) {});
  });
}

kj::Promise<void> GraphSession::lease(LeaseContext context) {
  return Guarded(context, [&]() -> kj::Promise<void> {
    auto params = context.getParams();
    auto changed = std::make_shared<bool>(false);
    return OnBuilds(
        context,
        [job = membership_->job_id(), &host = context_.tensors, table = params.getTable(),
         hold = params.getHold(), changed] { *changed = host.Lease(job, table, hold); },
        [changed](LeaseResults::Builder results) { results.setChanged(*changed); });
  });
}

kj::Promise<void> GraphSession::prepareState(PrepareStateContext context) {
  return Guarded(context, [&]() -> kj::Promise<void> {
    auto params = context.getParams();
    return OnBuilds(
        context,
        [job = membership_->job_id(), &host = context_.tensors, table = params.getTable(),
         state = static_cast<OptimizerState>(params.getState())] {
          host.PrepareState(job, table, state);
        },
        [](auto) {});
  });
}

kj::Promise<void> GraphSession::dropTensor(DropTensorContext context) {
  return Guarded(context, [&]() -> kj::Promise<void> {
    return OnBuilds(
        context,
        [job = membership_->job_id(), &host = context_.tensors,
         table = context.getParams().getTable()] { host.Drop(job, table); },
        [](auto) {});
  });
}

kj::Promise<void> GraphSession::lastStep(LastStepContext context) {
  return Guarded(context, [&]() -> kj::Promise<void> {
    const std::string& job = membership_->job_id();
    const auto share = context_.tensors.FindToRead(job, context.getParams().getTable());
    context.getResults().setStep(context_.steps.LastStep(share, job));
    return kj::READY_NOW;
  });
}

kj::Promise<void> GraphSession::listTensors(ListTensorsContext context) {
  return Guarded(context, [&]() -> kj::Promise<void> {
    const std::vector<TensorShare> all = context_.tensors.List(membership_->job_id());
    auto out = context.getResults().initTensors(static_cast<kj::uint>(all.size()));
    for (kj::uint i = 0; i < out.size(); i++) WriteShare(all[i], out[i]);
    return kj::READY_NOW;
  });
}

}  // namespace graphd
