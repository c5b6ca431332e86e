// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <capnp/capability.h>
#include <capnp/orphan.h>
#include <kj/async.h>
#include <kj/timer.h>

#include <memory>
#include <utility>

#include "daemon/access/access_rules.h"
#include "daemon/requests/answer_writer.h"
#include "daemon/requests/call_limit.h"
#include "daemon/requests/job_counters.h"
#include "daemon/requests/request_counters.h"
#include "daemon/requests/requests_in_flight.h"
#include "daemon/requests/worker_pools.h"
#include "wire/connection.h"

namespace graphd {

// The resources with which one client's requests run: the daemon's pools, counters and buffers, and
// the client's connection. Used on the connection's data thread only. Shared by the client's
// session and its checkpoint service; it may outlive the connection, while calls are still running.
class RequestContext {
 public:
  // `pools`, `counters` and `access` outlive every connection. `scratch` and `timer` belong to the
  // data thread. `in_flight` and `job` are the client's, and `job_counters` those of its job.
  RequestContext(WorkerPools& pools, RequestCounters& counters, const TensorStream& stream,
                 WorkerScratch& scratch, kj::Timer& timer, const AccessRules& access, Peer peer,
                 std::shared_ptr<ClientRequests> in_flight, const JobShare& job,
                 std::shared_ptr<JobCounters> job_counters);
  RequestContext(const RequestContext&) = delete;
  RequestContext& operator=(const RequestContext&) = delete;

  WorkerPools& pools() const noexcept { return pools_; }
  RequestCounters& counters() const noexcept { return counters_; }
  // Count the rows and edges of answers, for the daemon and for the job.
  void CountRows(uint64_t rows) noexcept {
    counters_.rows_served.fetch_add(rows, std::memory_order_relaxed);
    job_counters_->rows_served.fetch_add(rows, std::memory_order_relaxed);
  }
  void CountEdges(uint64_t edges) noexcept {
    counters_.edges_sampled.fetch_add(edges, std::memory_order_relaxed);
    job_counters_->edges_sampled.fetch_add(edges, std::memory_order_relaxed);
  }
  // Returns the client's buffer pool, which charges buffers to the client's account.
  const std::shared_ptr<BufferPool>& buffers() const noexcept { return buffers_; }
  // Returns an empty charge, to which memory that is not from the pool can be added.
  MemoryCharge NewCharge() const { return MemoryCharge(buffers_->account()); }
  const std::shared_ptr<Outbox>& outbox() const noexcept { return outbox_; }
  const std::shared_ptr<Inbox>& inbox() const noexcept { return inbox_; }
  CallLimit& calls() const noexcept { return *calls_; }
  // Counts a capability that the client gets; see CapabilityLimit::Enter.
  std::shared_ptr<const void> CountCapability() const { return capabilities_->Enter(); }
  kj::Timer& timer() const noexcept { return timer_; }
  const AccessRules& access() const noexcept { return access_; }
  const Peer& peer() const noexcept { return peer_; }
  // Returns the client's job and its weight, for the pools.
  const JobShare& job() const noexcept { return job_; }

  // Throws Error(kDenied) unless the client is connected by the Unix socket, over which memory can
  // be shared.
  void RequireUnixSocket() const;
  // Throws Error(kDenied) unless the client has the role; `action` completes "may not".
  void Require(Role least, const char* action) const { access_.Require(peer_, least, action); }

  // Starts a request of the client. It is in flight until the last owner of the returned pointer
  // has dropped it. `operation` is a literal. While the daemon stops, throws Error(kUnavailable) as
  // an exception of KJ.
  RequestPtr Begin(const char* operation) {
    return AsKj([&] { return in_flight_->Begin(operation); });
  }

  // Runs call(request), and counts it, its time and its failure. Allows the call to be cancelled
  // when the client disconnects or drops it; an Error that `call` throws becomes the answer. Keeps
  // `session` alive until the call is done. `operation` is a literal.
  template <class CallContext, class Call>
  kj::Promise<void> RunCall(RequestKind kind, const char* operation, CallContext& context,
                            capnp::Capability::Client session, Call&& call);

  // Returns a promise like `waiting`, which may never be fulfilled. It fails when the connection
  // ends, also if Cap'n Proto does not cancel the call: it never cancels one while another call
  // waits for its answer.
  kj::Promise<void> UntilDisconnected(kj::Promise<void> waiting);
  // Notes that the connection ends.
  void Disconnect();

  // Runs slices of a request on the compute pool, or at once on this thread if `work` (the bytes
  // touched, roughly) is small. An Error that a slice throws makes the promise fail.
  kj::Promise<void> Execute(const RequestPtr& request, size_t work, size_t num_slices,
                            ComputePool::Slice run);
  // Runs slices of a request on one of the pools.
  kj::Promise<void> RunOn(ComputePool& pool, const RequestPtr& request, size_t num_slices,
                          ComputePool::Slice run);

  // Sends the first `bytes` of the buffer without a copy, and counts them.
  capnp::Orphan<capnp::Data> Adopt(capnp::Orphanage orphanage, PooledBuffer buffer, size_t bytes,
                                   Outbox::Room room);
  // Returns a function that calls Adopt() for the arrays of one answer, which have at most `bytes`
  // in all. Reserves room for all of them first, because an answer can't be refused once some of
  // its arrays are adopted.
  AnswerWriter::Send Sender(capnp::Orphanage orphanage, size_t bytes);

 private:
  WorkerPools& pools_;
  RequestCounters& counters_;
  const std::shared_ptr<BufferPool> buffers_;
  const std::shared_ptr<Outbox> outbox_;
  const std::shared_ptr<Inbox> inbox_;
  WorkerScratch& scratch_;
  kj::Timer& timer_;
  const AccessRules& access_;
  const Peer peer_;
  const std::shared_ptr<ClientRequests> in_flight_;
  const JobShare job_;
  const std::shared_ptr<JobCounters> job_counters_;
  const std::shared_ptr<CallLimit> calls_ = std::make_shared<CallLimit>();
  const std::shared_ptr<CapabilityLimit> capabilities_ = std::make_shared<CapabilityLimit>();
  bool is_disconnected_ = false;
  kj::Canceler waiting_;  // the promises that UntilDisconnected has returned
};

template <class CallContext, class Call>
kj::Promise<void> RequestContext::RunCall(RequestKind kind, const char* operation,
                                          CallContext& context, capnp::Capability::Client session,
                                          Call&& call) {
  // By default, a call would continue after its client has disconnected, and a barrier would wait
  // forever.
  context.allowCancellation();
  counters_.requests.fetch_add(1, std::memory_order_relaxed);
  job_counters_->requests.fetch_add(1, std::memory_order_relaxed);
  try {
    auto count = calls_->Enter();
    RequestPtr request = in_flight_->Begin(operation);
    // The counters outlive every connection, and therefore every call. The object also keeps the
    // request.
    auto time = kj::defer([&counters = counters_, kind, request] {
      const Clock::time_point now = Clock::now();
      counters.CountEnded(kind, now - request->since(), request->WaitedUntil(now));
    });
    return call(request)
        .catch_([&counters = counters_, client = in_flight_,
                 operation](kj::Exception&& exception) -> kj::Promise<void> {
          const Error error = FromKj(exception, "a call");
          counters.CountError(error.code());
          client->LogFailed(operation, error);
          return kj::mv(exception);
        })
        .attach(kj::mv(count), kj::mv(session), kj::mv(time));
  } catch (const Error& error) {
    counters_.CountError(error.code());
    in_flight_->LogFailed(operation, error);
    return ToKj(error);
  }
}

}  // namespace graphd
