// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <memory>

#include "daemon/compute_pool.h"
#include "daemon/job_registry.h"
#include "daemon/served_graph.h"
#include "wire/connection.h"

namespace graphd {

// What all connections share. References to things that outlive every connection.
struct ServiceContext {
  ServedGraph& graph;
  ComputePool& pool;
  JobRegistry& jobs;
  std::shared_ptr<BufferPool> buffers;
};

// One client's session: reading the graph. Lives on its connection's data thread. Small requests
// are answered at once, others on the compute pool; requests own copies of what they read, so a
// client that vanishes never pulls memory from under a computing thread.
class GraphSession final : public wire::Session::Server {
 public:
  // `outbox` is that of the connection; a call may outlive the connection, and then has it still.
  // `scratch` belongs to the data thread.
  GraphSession(ServiceContext& context, std::shared_ptr<Outbox> outbox, WorkerScratch& scratch,
               std::unique_ptr<JobRegistry::Membership> membership);

  // A client may have this many requests in flight; one more is refused with Error(kOverloaded).
  static constexpr int kMaxInFlight = 256;
  // Ids in one request (clients cut larger ones).
  static constexpr size_t kMaxIds = size_t{1} << 22;
  // Seeds in one request: what one slice of the compute pool may take.
  static constexpr size_t kMaxSeeds = size_t{1} << 16;

 protected:
  kj::Promise<void> sample(SampleContext context) override;
  kj::Promise<void> gather(GatherContext context) override;
  kj::Promise<void> slice(SliceContext context) override;
  kj::Promise<void> barrier(BarrierContext context) override;

 private:
  struct SampleJob;
  struct GatherJob;
  // Counts the request while it runs, and lets it be cancelled when the client goes or no longer
  // wants it; Errors of `f` become the call's.
  template <class Context, class F>
  kj::Promise<void> Guarded(Context& context, F&& f);
  // On the pool, or at once if `work` (bytes touched, roughly) is small.
  kj::Promise<void> Execute(size_t work, size_t num_slices, ComputePool::Slice run);
  // Sends `bytes` of the buffer without a copy.
  capnp::Orphan<capnp::Data> Adopt(capnp::Orphanage orphanage, PooledBuffer buffer, size_t bytes,
                                   Outbox::Room room);

  ServiceContext& context_;
  std::shared_ptr<Outbox> outbox_;
  WorkerScratch& scratch_;
  std::unique_ptr<JobRegistry::Membership> membership_;
  int in_flight_ = 0;
};

}  // namespace graphd
