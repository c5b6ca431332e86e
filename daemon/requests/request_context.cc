// SPDX-License-Identifier: Apache-2.0
#include "daemon/requests/request_context.h"

#include "base/strings.h"
#include "daemon/requests/wire_ids.h"

namespace graphd {
namespace {

// Work of less than about 100 us is done on the data thread: a round trip to the pool costs 15 us.
constexpr size_t kInlineBytes = size_t{256} << 10;

kj::Exception Disconnected() {
  return ToKj(Error(ErrorCode::kUnavailable, "the connection has ended"));
}

}  // namespace

RequestContext::RequestContext(WorkerPools& pools, RequestCounters& counters,
                               const TensorStream& stream, WorkerScratch& scratch, kj::Timer& timer,
                               const AccessRules& access, Peer peer,
                               std::shared_ptr<ClientRequests> in_flight, const JobShare& job,
                               std::shared_ptr<JobCounters> job_counters)
    : pools_(pools),
      counters_(counters),
      buffers_(stream.buffers()),
      outbox_(stream.outbox()),
      inbox_(stream.inbox()),
      scratch_(scratch),
      timer_(timer),
      access_(access),
      peer_(std::move(peer)),
      in_flight_(std::move(in_flight)),
      job_(job),
      job_counters_(std::move(job_counters)) {}

void RequestContext::RequireUnixSocket() const {
  if (!peer_.is_unix) Throw(ErrorCode::kDenied, "memory is shared over the Unix socket only");
}

kj::Promise<void> RequestContext::UntilDisconnected(kj::Promise<void> waiting) {
  if (is_disconnected_) return Disconnected();
  return waiting_.wrap(kj::mv(waiting));
}

void RequestContext::Disconnect() {
  is_disconnected_ = true;
  waiting_.cancel(Disconnected());
}

kj::Promise<void> RequestContext::Execute(const RequestPtr& request, size_t work, size_t num_slices,
                                          ComputePool::Slice run) {
  try {
    if (work > kInlineBytes) return RunOn(pools_.compute, request, num_slices, std::move(run));
    request->SetState(RequestState::kRuns);
    for (size_t slice = 0; slice < num_slices; slice++) run(slice, scratch_);
    return kj::READY_NOW;
  } catch (const Error& error) {
    return ToKj(error);  // callers may be callbacks of KJ, which would lose its code
  }
}

kj::Promise<void> RequestContext::RunOn(ComputePool& pool, const RequestPtr& request,
                                        size_t num_slices, ComputePool::Slice run) {
  request->SetState(RequestState::kWaitsForThread);
  return pool.Run(job_, num_slices,
                  [request, run = std::move(run)](size_t slice, WorkerScratch& scratch) {
                    request->SetState(RequestState::kRuns);
                    run(slice, scratch);
                  });
}

capnp::Orphan<capnp::Data> RequestContext::Adopt(capnp::Orphanage orphanage, PooledBuffer buffer,
                                                 size_t bytes, Outbox::Room room) {
  counters_.bytes_sent.fetch_add(bytes, std::memory_order_relaxed);
  job_counters_->bytes_sent.fetch_add(bytes, std::memory_order_relaxed);
  return AdoptBuffer(*outbox_, orphanage, std::move(buffer), bytes, std::move(room));
}

AnswerWriter::Send RequestContext::Sender(capnp::Orphanage orphanage, size_t bytes) {
  CheckResponse(bytes);
  auto room = std::make_shared<Outbox::Room>(outbox_->Reserve(bytes));
  return [this, orphanage, room](PooledBuffer buffer, size_t size) {
    return Adopt(orphanage, std::move(buffer), size, room->Take(size));
  };
}

}  // namespace graphd
