// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <kj/async.h>
#include <kj/time.h>

#include <memory>
#include <string>

#include "daemon/requests/job_registry.h"
#include "daemon/requests/request_context.h"
#include "daemon/tensors/push_client.h"
#include "daemon/tensors/step_gate.h"
#include "store/tensor_host.h"
#include "wire/graphd.capnp.h"
#include "wire/memory/push_memory.h"

namespace graphd {

// The calls of one client's session that open, read and change distributed tensors. Owned by the
// session, which outlives its calls; used on the connection's data thread. Rows are read and
// changed on a pool or, if there are few, at once; calls that use the disk run on the pool
// `records`.
//
// Each method handles the call of its name in wire::Session, and throws Error or returns a promise
// that fails.
class TensorService {
 public:
  using OpenTensorContext =
      capnp::CallContext<wire::Session::OpenTensorParams, wire::Session::OpenTensorResults>;
  using FilledContext =
      capnp::CallContext<wire::Session::FilledParams, wire::Session::FilledResults>;
  using MapTensorContext =
      capnp::CallContext<wire::Session::MapTensorParams, wire::Session::MapTensorResults>;
  using ReadRowsContext =
      capnp::CallContext<wire::Session::ReadRowsParams, wire::Session::ReadRowsResults>;
  using PushContext = capnp::CallContext<wire::Session::PushParams, wire::Session::PushResults>;
  using StageContext = capnp::CallContext<wire::Session::StageParams, wire::Session::StageResults>;
  using LastStepContext =
      capnp::CallContext<wire::Session::LastStepParams, wire::Session::LastStepResults>;
  using LeaseContext = capnp::CallContext<wire::Session::LeaseParams, wire::Session::LeaseResults>;
  using PrepareStateContext =
      capnp::CallContext<wire::Session::PrepareStateParams, wire::Session::PrepareStateResults>;
  using ListTensorsContext =
      capnp::CallContext<wire::Session::ListTensorsParams, wire::Session::ListTensorsResults>;
  using DropTensorContext =
      capnp::CallContext<wire::Session::DropTensorParams, wire::Session::DropTensorResults>;
  using PushMemoryContext =
      capnp::CallContext<wire::Session::PushMemoryParams, wire::Session::PushMemoryResults>;

  // All arguments outlive the service. `member` is the client; `meta` describes the version of the
  // graph that it uses.
  TensorService(RequestContext& requests, store::TensorHost& host, StepGate& steps,
                FairPushes& pushes, const JobRegistry::Membership& member,
                std::shared_ptr<const GraphMeta> meta)
      : requests_(requests),
        host_(host),
        steps_(steps),
        pushes_(pushes),
        member_(member),
        clients_(member.job_id()),
        meta_(std::move(meta)) {}
  TensorService(const TensorService&) = delete;
  TensorService& operator=(const TensorService&) = delete;
  // Informs the host that the client has gone.
  ~TensorService() { host_.OnCallerLeft(member_.key()); }

  kj::Promise<void> OpenTensor(OpenTensorContext context, const RequestPtr& request);
  kj::Promise<void> Filled(FilledContext context, const RequestPtr& request);
  kj::Promise<void> MapTensor(MapTensorContext context, const RequestPtr& request);
  kj::Promise<void> ReadRows(ReadRowsContext context, const RequestPtr& request);
  kj::Promise<void> Push(PushContext context, const RequestPtr& request);
  kj::Promise<void> Stage(StageContext context, const RequestPtr& request);
  kj::Promise<void> LastStep(LastStepContext context, const RequestPtr& request);
  kj::Promise<void> Lease(LeaseContext context, const RequestPtr& request);
  kj::Promise<void> PrepareState(PrepareStateContext context, const RequestPtr& request);
  kj::Promise<void> ListTensors(ListTensorsContext context, const RequestPtr& request);
  kj::Promise<void> DropTensor(DropTensorContext context, const RequestPtr& request);
  // Gives the client the memory to which it writes payloads. The first call creates it, and charges
  // it to the client's job.
  kj::Promise<void> SharePushMemory(PushMemoryContext context, const RequestPtr& request);

 private:
  struct RowChange;
  using WeakTable = std::weak_ptr<const store::Table>;  // it may be dropped at any time
  // Checks a request to change rows, and copies what it needs from the message.
  template <class Params>
  std::shared_ptr<RowChange> ReadChange(const Params& params);
  void ReadPayload(capnp::Data::Reader payload, wire::SharedPayload::Reader shared,
                   RowChange& change);
  // Runs slices that touch rows of tensors: on `pool` if they may have to wait for memory, and
  // otherwise as RequestContext::Execute does.
  kj::Promise<void> ExecuteOnRows(const RequestPtr& request, ComputePool& pool, size_t work,
                                  size_t num_slices, ComputePool::Slice run);
  // Returns a promise that is never fulfilled. It fails, with the reason, once the store has
  // stalled for seconds, so that the client learns why no answer came.
  kj::Promise<void> FailIfStalled(std::string tensor);
  // Returns a promise that is fulfilled when the table's memory is prepared, when the table is
  // dropped, or at `end`.
  kj::Promise<void> WhenPrepared(WeakTable table, kj::TimePoint end);
  store::TensorHost::Caller caller() const;
  // Runs work() on the pool `records`, then answer(results) on this thread.
  template <class Context, class Work, class Answer>
  kj::Promise<void> RunOnRecords(Context& context, const RequestPtr& request, Work work,
                                 Answer answer);

  RequestContext& requests_;
  store::TensorHost& host_;
  StepGate& steps_;
  FairPushes& pushes_;
  const JobRegistry::Membership& member_;
  const PushClients clients_;
  const std::shared_ptr<const GraphMeta> meta_;
  // The memory to which the client writes payloads; null until the client asks for it.
  std::shared_ptr<PushMemory> push_memory_;
  MemoryCharge push_memory_charge_;
  uint64_t push_memory_id_ = 0;
};

}  // namespace graphd
