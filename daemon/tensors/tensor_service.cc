// SPDX-License-Identifier: Apache-2.0
#include "daemon/tensors/tensor_service.h"

#include <algorithm>
#include <cstring>
#include <random>

#include "base/strings.h"
#include "daemon/requests/segment_handle.h"
#include "daemon/requests/wire_ids.h"
#include "store/rows/table_preparer.h"
#include "wire/tensor_messages.h"

namespace graphd {
namespace {

using store::TensorHost;

// Bytes per slice of a read.
constexpr size_t kReadSliceBytes = size_t{1} << 20;
// The cost of a row besides its bytes: a random memory access, expressed in bytes as
// RequestContext::Execute counts them.
constexpr size_t kWorkPerRow = 64;
// The part of a job's share of memory that memory for pushes may take. Clients that get no such
// memory send payloads in messages.
constexpr double kPushMemoryPart = 0.5;
// A push that waits this long makes the session check the store for trouble.
constexpr auto kStallCheckInterval = 5 * kj::SECONDS;
// The interval at which a session checks whether the table that an optimiser waits for is prepared.
constexpr auto kPreparationCheckInterval = 2 * kj::MILLISECONDS;

std::string NameOf(const TensorHost::SharePtr& share) { return share->record.spec.name; }

// The result of TensorHost::Open on its way to the client, which may have to fill the tensor. If
// the client disconnects before it is answered, the destructor gives up the filling in its place.
struct PendingOpen {
  TensorHost& host;
  TensorHost::Caller caller;
  TensorHost::Opened opened = {};
  bool answered = false;

  ~PendingOpen() {
    if (opened.fill && !answered) host.GiveUpFilling(caller, opened.share.table);
  }
};

// A promise and the callback that fulfils it from another thread.
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

// A checked request to change rows. Until it is done, it owns its ids, and owns its payload or
// keeps the payload's owner.
struct TensorService::RowChange {
  TensorHost::SharePtr share;
  WireIds ids;
  store::Push push;
  std::vector<int64_t> rows;
  std::shared_ptr<const void> owner;  // keeps push.payload alive
  PooledBuffer copy;                  // the bytes of a small payload
  MemoryCharge charge;                // for `rows`

  // Converts ids to local rows; runs on the thread that applies the change.
  void ToRows() {
    ids.CopyRows(0, ids.size(), share->rows.ids(), share->record.part, rows);
    push.rows = rows;
  }
};

template <class Params>
std::shared_ptr<TensorService::RowChange> TensorService::ReadChange(const Params& params) {
  const auto rule = params.getRule();
  const bool loads = rule.getKind() == static_cast<uint8_t>(UpdateKind::kLoad);
  auto share = host_.FindToWrite(member_.job_id(), params.getTable(), loads);
  WireIds taken(params.getIds(), share->rows.total(), *requests_.buffers());
  auto change = std::make_shared<RowChange>(
      RowChange{std::move(share), std::move(taken), {}, {}, nullptr, {}, requests_.NewCharge()});
  change->charge.Add(change->ids.size() * sizeof(int64_t));
  change->push.rule = ReadUpdateRule(rule);
  ReadPayload(params.getPayload(), params.getShared(), *change);
  return change;
}

void TensorService::ReadPayload(capnp::Data::Reader payload, wire::SharedPayload::Reader shared,
                                RowChange& change) {
  if (shared.getMemory() != 0) {
    if (push_memory_ == nullptr || shared.getMemory() != push_memory_id_) {
      // The session to which that memory belonged was lost; the client sends the payload again.
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
  change.owner = requests_.inbox()->Keep(payload.begin(), payload.size());
  if (!change.owner && payload.size() > 0) {
    change.copy = requests_.buffers()->Get(payload.size());
    std::memcpy(change.copy.data(), payload.begin(), payload.size());
    change.push.payload = change.copy.first(payload.size());
  }
}

kj::Promise<void> TensorService::SharePushMemory(PushMemoryContext context, const RequestPtr&) {
  requests_.RequireUnixSocket();
  auto count = requests_.CountCapability();
  if (push_memory_ == nullptr) {
    // The memory has an account of its own. If it were charged to the connection's account, the
    // connection would lose a right: one with nothing charged to its account can always send short
    // messages.
    const auto& account = requests_.buffers()->account();
    MemoryCharge charge;
    if (account != nullptr) {
      const auto memory = account->Sibling("its memory for pushes");
      if (!memory->CanTake(PushMemory::kBytes, kPushMemoryPart)) memory->Refuse(PushMemory::kBytes);
      charge = MemoryCharge(memory);
      charge.AddAnyway(PushMemory::kBytes);
    }
    push_memory_charge_ = std::move(charge);
    push_memory_ = std::make_shared<PushMemory>();
    while (push_memory_id_ == 0) {
      std::random_device random;
      push_memory_id_ = uint64_t{random()} << 32 | random();
    }
  }
  auto results = context.getResults();
  results.setHandle(
      kj::heap<SegmentHandleImpl>(push_memory_, push_memory_->fd()).attach(std::move(count)));
  results.setId(push_memory_id_);
  return kj::READY_NOW;
}

kj::Promise<void> TensorService::ExecuteOnRows(const RequestPtr& request, ComputePool& pool,
                                               size_t work, size_t num_slices,
                                               ComputePool::Slice run) {
  if (host_.memory_is_bounded()) return requests_.RunOn(pool, request, num_slices, std::move(run));
  return requests_.Execute(request, work, num_slices, std::move(run));
}

kj::Promise<void> TensorService::FailIfStalled(std::string tensor) {
  return requests_.timer()
      .afterDelay(kStallCheckInterval)
      .then([this, tensor]() -> kj::Promise<void> {
        const std::string why = host_.trouble();
        if (why.empty()) return FailIfStalled(tensor);
        return ToKj(Error(ErrorCode::kUnavailable,
                          StrCat("tensor '", tensor, "' can't be changed at present: ", why,
                                 "; the change that was sent is made as soon as possible")));
      });
}

kj::Promise<void> TensorService::Push(PushContext context, const RequestPtr& request) {
  auto params = context.getParams();
  auto change = ReadChange(params);
  change->push.client = clients_.OfPushes(
      params.getTable(), {params.getClient().getHigh(), params.getClient().getLow()});
  change->push.sequence = params.getSequence();
  change->push.share = requests_.job();
  context.releaseParams();
  Completion completion = NewCompletion();
  const std::string tensor = NameOf(change->share);
  return ExecuteOnRows(
             request, requests_.pools().row_changes, change->ids.size() * kWorkPerRow, 1,
             [&host = host_, &pushes = pushes_, job = member_.job_id(), share = requests_.job(),
              change, request, done = std::move(completion.done)](size_t, WorkerScratch&) {
               change->ToRows();
               // The callbacks keep the change alive until it is done.
               const auto submit = [&host, job, change, request](const FairPushes::Done& next) {
                 request->SetState(RequestState::kWaitsForStore);
                 host.Submit(job, change->share, change->push,
                             [change, next](const Error* error) { next(error); });
               };
               // A push that may wait for memory bypasses the queue, so that no other push waits
               // behind it.
               if (host.memory_is_bounded()) return submit(done);
               request->SetState(RequestState::kWaitsForTurn);
               pushes.Run(share, change->push.payload.size(), submit, done);
             })
      .then([promise = kj::mv(completion.promise)]() mutable { return kj::mv(promise); })
      .exclusiveJoin(FailIfStalled(tensor));
}

kj::Promise<void> TensorService::Stage(StageContext context, const RequestPtr& request) {
  auto params = context.getParams();
  if (member_.role() == JobRole::kLauncher) {
    Throw(ErrorCode::kInvalid, "only trainers take part in steps");
  }
  auto change = ReadChange(params);
  const uint64_t step = params.getStep();
  context.releaseParams();
  Completion completion = NewCompletion();
  const std::string tensor = NameOf(change->share);
  return ExecuteOnRows(
             request, requests_.pools().row_changes,
             change->push.payload.size() + change->ids.size() * kWorkPerRow, 1,
             [this_job = member_.job_id(),
              trainer = StepGate::Trainer{member_.rank(), member_.world_size(), member_.attempt()},
              &steps = steps_, change, step, request, account = requests_.buffers()->account(),
              share = requests_.job(), done = std::move(completion.done)](size_t, WorkerScratch&) {
               change->ToRows();
               request->SetState(RequestState::kWaitsForTrainers);
               steps.AddPart(change->share, this_job, trainer, change->push.rule, step,
                             {change->rows, change->push.payload, change, account, share}, done);
             })
      .then([&requests = requests_, promise = kj::mv(completion.promise)]() mutable {
        return requests.UntilDisconnected(kj::mv(promise));
      })
      .exclusiveJoin(FailIfStalled(tensor));
}

kj::Promise<void> TensorService::ReadRows(ReadRowsContext context, const RequestPtr& request) {
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
      ids.CopyRows(begin, end, share->rows.ids(), share->record.part, rows);
      share->table->Read(rows, out.data() + begin * row_bytes);
    }
    // Throws if a checkpoint was restored meanwhile, because the rows may be a mix of both states.
    void CheckNotRestored() const {
      if (restores % 2 == 0 && share->table->restores() == restores) return;
      Throw(ErrorCode::kUnavailable, "tensor '", NameOf(share),
            "' was restored from a checkpoint while it was read; read it again");
    }
  };
  auto share = host_.FindToRead(member_.job_id(), params.getTable());
  WireIds ids(params.getIds(), share->rows.total(), *requests_.buffers());
  const size_t count = ids.size(), row_bytes = share->record.spec.row_bytes();
  const size_t bytes = count * row_bytes;
  const uint64_t restores = share->table->restores();
  CheckResponse(bytes);
  auto read = std::make_shared<Read>(
      Read{std::move(share), std::move(ids), requests_.outbox()->Reserve(bytes),
           requests_.buffers()->Get(bytes + 8), row_bytes,
           std::max<size_t>(1, kReadSliceBytes / row_bytes), restores});
  context.releaseParams();
  requests_.CountRows(count);
  const size_t slices = (count + read->rows_per_slice - 1) / read->rows_per_slice;
  return ExecuteOnRows(
             request, requests_.pools().row_reads, bytes + count * kWorkPerRow, slices,
             [read](size_t slice, WorkerScratch& scratch) { read->Run(slice, scratch.rows); })
      .then([this, context, read, bytes]() mutable {
        AsKj([&] {
          read->CheckNotRestored();
          auto results = context.getResults(capnp::MessageSize{16, 0});
          results.adoptRows(requests_.Adopt(capnp::Orphanage::getForMessageContaining(results),
                                            std::move(read->out), bytes, std::move(read->room)));
        });
      });
}

kj::Promise<void> TensorService::MapTensor(MapTensorContext context, const RequestPtr&) {
  requests_.RequireUnixSocket();
  auto count = requests_.CountCapability();
  const auto share = host_.FindToRead(member_.job_id(), context.getParams().getTable());
  const int fd = share->table->arena().reader_fd();
  context.getResults().setHandle(
      kj::heap<SegmentHandleImpl>(share->table, fd).attach(std::move(count)));
  return kj::READY_NOW;
}

template <class Context, class Work, class Answer>
kj::Promise<void> TensorService::RunOnRecords(Context& context, const RequestPtr& request,
                                              Work work, Answer answer) {
  return requests_
      .RunOn(requests_.pools().records, request, 1,
             [work = std::move(work)](size_t, WorkerScratch&) mutable { work(); })
      .then([context, answer = std::move(answer)]() mutable {
        AsKj([&] { answer(context.getResults()); });
      });
}

TensorHost::Caller TensorService::caller() const {
  return {member_.job_id(), member_.key(), meta_};
}

kj::Promise<void> TensorService::OpenTensor(OpenTensorContext context, const RequestPtr& request) {
  auto params = context.getParams();
  std::shared_ptr<PendingOpen> opened(new PendingOpen{host_, caller()});
  const bool may_write = requests_.access().RoleOf(requests_.peer()) >= Role::kWriter;
  return RunOnRecords(
      context, request,
      [opened, part = params.getPart(), spec = ReadTensorSpec(params.getSpec()), may_write,
       &access = requests_.access(), peer = requests_.peer(), create = params.getCreate(),
       fills = params.getCallerFills()] {
        try {
          opened->opened = opened->host.Open(opened->caller, part, spec, create && may_write,
                                             fills && may_write);
        } catch (const Error& error) {
          // A reader may open a tensor that exists. If it does not exist, a reader gets the error
          // that readers may not create tensors.
          if (create && error.code() == ErrorCode::kNotFound) {
            access.Require(peer, Role::kWriter, "create tensors");
          }
          throw;
        }
      },
      [opened](wire::Session::OpenTensorResults::Builder results) {
        WriteShare(opened->opened.share, results.initInfo());
        results.setFill(opened->opened.fill);
        results.setFilling(opened->opened.filling);
        opened->answered = true;
      });
}

kj::Promise<void> TensorService::Filled(FilledContext context, const RequestPtr& request) {
  auto params = context.getParams();
  return RunOnRecords(
      context, request,
      [caller = caller(), &host = host_, table = params.getTable(),
       given_up = params.getGivenUp()] {
        if (given_up) return host.GiveUpFilling(caller, table);
        host.Filled(caller, table);
      },
      [](auto) {});
}

kj::Promise<void> TensorService::Lease(LeaseContext context, const RequestPtr& request) {
  auto params = context.getParams();
  auto changed = std::make_shared<bool>(false);
  return RunOnRecords(
      context, request,
      [job = member_.job_id(), &host = host_, table = params.getTable(), hold = params.getHold(),
       changed] { *changed = host.Lease(job, table, hold); },
      [changed](wire::Session::LeaseResults::Builder results) { results.setChanged(*changed); });
}

kj::Promise<void> TensorService::PrepareState(PrepareStateContext context,
                                              const RequestPtr& request) {
  auto params = context.getParams();
  const auto table = std::make_shared<WeakTable>();
  return RunOnRecords(
             context, request,
             [job = member_.job_id(), &host = host_, number = params.getTable(),
              state = static_cast<OptimizerState>(params.getState()),
              table] { *table = host.PrepareState(job, number, state); },
             [](auto) {})
      .then([this, table] {
        constexpr auto kLongest = store::kLongestPreparation.count() * kj::SECONDS;
        return WhenPrepared(*table, requests_.timer().now() + kLongest);
      });
}

kj::Promise<void> TensorService::WhenPrepared(WeakTable table, kj::TimePoint end) {
  const auto present = table.lock();
  if (present == nullptr || !present->is_preparing() || requests_.timer().now() >= end) {
    return kj::READY_NOW;
  }
  return requests_.timer().afterDelay(kPreparationCheckInterval).then([this, table, end] {
    return WhenPrepared(table, end);
  });
}

kj::Promise<void> TensorService::DropTensor(DropTensorContext context, const RequestPtr& request) {
  return RunOnRecords(
      context, request,
      [job = member_.job_id(), &host = host_, table = context.getParams().getTable()] {
        host.Drop(job, table);
      },
      [](auto) {});
}

kj::Promise<void> TensorService::LastStep(LastStepContext context, const RequestPtr&) {
  const auto share = host_.FindToRead(member_.job_id(), context.getParams().getTable());
  context.getResults().setStep(host_.LastSequence(clients_.OfSteps(share->table->id())));
  return kj::READY_NOW;
}

kj::Promise<void> TensorService::ListTensors(ListTensorsContext context,
                                             const RequestPtr& request) {
  // Listing thousands of tensors takes many milliseconds, so it is done on a pool.
  auto all = std::make_shared<std::vector<TensorShare>>();
  return requests_
      .RunOn(requests_.pools().compute, request, 1,
             [all, &host = host_, job = member_.job_id(), meta = meta_](size_t, WorkerScratch&) {
               *all = host.List(job, meta);
             })
      .then([all, context]() mutable {
        auto out = context.getResults().initTensors(static_cast<kj::uint>(all->size()));
        for (kj::uint i = 0; i < out.size(); i++) WriteShare((*all)[i], out[i]);
      });
}

}  // namespace graphd
