// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <kj/timer.h>

#include <memory>
#include <utility>

#include "base/strings.h"
#include "daemon/graph/served_graph.h"
#include "daemon/requests/answer_writer.h"
#include "daemon/requests/call_limit.h"
#include "daemon/requests/compute_pool.h"
#include "daemon/requests/job_registry.h"
#include "daemon/requests/wire_ids.h"
#include "daemon/tensors/step_gate.h"
#include "store/checkpoint/catalog.h"
#include "wire/connection.h"
#include "wire/push_memory.h"

namespace graphd {

// What all connections share. References to things that outlive every connection.
struct ServiceContext {
  ServedGraph& graph;
  ComputePool& pool;
  // For reads and changes of tensors where memory is bounded: they may wait for it, and for a full
  // disk. No others wait with them, nor reads with changes.
  ComputePool& reads;
  ComputePool& changes;
  ComputePool& builds;  // one thread, for derived arrays: they take seconds
  ComputePool& saves;   // for checkpoints, which take as long as the disk needs
  JobRegistry& jobs;
  store::TensorHost& tensors;
  store::CheckpointCatalog& checkpoints;
  StepGate& steps;
  std::shared_ptr<BufferPool> buffers;
};

// One client's session: reading the graph, and distributed tensors. Lives on its connection's data
// thread. Small requests are answered at once, others on the compute pool; requests own copies of
// what they read, so a client that vanishes never pulls memory from under a computing thread.
class GraphSession final : public wire::Session::Server {
 public:
  // `outbox` and `inbox` are those of the connection; a call may outlive the connection, and then
  // has them still. `scratch` and `timer` belong to the data thread.
  GraphSession(ServiceContext& context, const TensorStream& stream, WorkerScratch& scratch,
               kj::Timer& timer, std::unique_ptr<JobRegistry::Membership> membership, bool is_unix);
  ~GraphSession();

 protected:
  kj::Promise<void> hop(HopContext context) override;
  kj::Promise<void> gather(GatherContext context) override;
  kj::Promise<void> slice(SliceContext context) override;
  kj::Promise<void> barrier(BarrierContext context) override;
  // graph_queries.cc
  kj::Promise<void> findEdges(FindEdgesContext context) override;
  kj::Promise<void> hasEdges(HasEdgesContext context) override;
  kj::Promise<void> degrees(DegreesContext context) override;
  kj::Promise<void> induced(InducedContext context) override;
  kj::Promise<void> edgeIndex(EdgeIndexContext context) override;
  // tensor_calls.cc
  kj::Promise<void> openTensor(OpenTensorContext context) override;
  kj::Promise<void> filled(FilledContext context) override;
  kj::Promise<void> mapTensor(MapTensorContext context) override;
  kj::Promise<void> readRows(ReadRowsContext context) override;
  kj::Promise<void> push(PushContext context) override;
  kj::Promise<void> stage(StageContext context) override;
  kj::Promise<void> lastStep(LastStepContext context) override;
  kj::Promise<void> lease(LeaseContext context) override;
  kj::Promise<void> prepareState(PrepareStateContext context) override;
  kj::Promise<void> listTensors(ListTensorsContext context) override;
  kj::Promise<void> dropTensor(DropTensorContext context) override;
  kj::Promise<void> pushMemory(PushMemoryContext context) override;
  // checkpoint_service.cc
  kj::Promise<void> checkpoints(CheckpointsContext context) override;

 private:
  struct GatherJob;
  struct Change;
  // A request to change rows, checked, with what it needs of the message.
  template <class Params>
  std::shared_ptr<Change> TakeChange(const Params& params);
  void TakePayload(capnp::Data::Reader payload, wire::SharedPayload::Reader shared, Change& change);
  // Execute for what touches tensors' rows: `pool` if it may have to wait for memory.
  kj::Promise<void> ExecuteOnRows(ComputePool& pool, size_t work, size_t num_slices,
                                  ComputePool::Slice run);
  // Never done, but fails once the store has taken no pushes for seconds, saying why: a client
  // would only learn that it had no answer.
  kj::Promise<void> FailIfStalled(std::string tensor);
  store::TensorHost::Caller caller() const;
  // work() on the builds' thread, then answer(results).
  template <class Context, class Work, class Answer>
  kj::Promise<void> OnBuilds(Context& context, Work work, Answer answer);
  // Counts the request while it runs, and lets it be cancelled when the client goes or no longer
  // wants it; Errors of `f` become the call's.
  template <class Context, class F>
  kj::Promise<void> Guarded(Context& context, F&& f);
  // Makes derived arrays that are not there yet, on the builds' thread.
  kj::Promise<void> MakeIndexes(std::shared_ptr<EdgeIndexes> indexes,
                                std::vector<EdgeIndexSpec> specs);
  kj::Promise<void> MakeSorted(std::shared_ptr<EdgeIndexes> indexes, EdgeTypeId etype);
  // On the pool, or at once if `work` (bytes touched, roughly) is small.
  kj::Promise<void> Execute(size_t work, size_t num_slices, ComputePool::Slice run);
  // Sends `bytes` of the buffer without a copy.
  capnp::Orphan<capnp::Data> Adopt(capnp::Orphanage orphanage, PooledBuffer buffer, size_t bytes,
                                   Outbox::Room room);
  // Adopt() for the arrays of one answer, which have at most `bytes` in all. Reserves room for all
  // of them: what is adopted must be sent, so there may be no refusal half-way.
  AnswerWriter::Send Sender(capnp::Orphanage orphanage, size_t bytes);

  ServiceContext& context_;
  const std::shared_ptr<Outbox> outbox_;
  const std::shared_ptr<Inbox> inbox_;
  WorkerScratch& scratch_;
  kj::Timer& timer_;
  std::unique_ptr<JobRegistry::Membership> membership_;
  const bool is_unix_;
  // What the client writes payloads to; null until it asks for that.
  std::shared_ptr<PushMemory> push_memory_;
  uint64_t push_memory_id_ = 0;
  const std::shared_ptr<CallLimit> calls_ = std::make_shared<CallLimit>();
};

template <class Context, class F>
kj::Promise<void> GraphSession::Guarded(Context& context, F&& f) {
  // Without it a call runs on after its client has gone, and a barrier for ever.
  context.allowCancellation();
  context_.graph.requests.fetch_add(1, std::memory_order_relaxed);
  try {
    auto count = calls_->Enter();
    return f().attach(kj::mv(count), thisCap());
  } catch (const Error& error) {
    return ToKj(error);
  }
}

}  // namespace graphd
