// SPDX-License-Identifier: Apache-2.0
#include "daemon/serving/graph_session.h"

#include <utility>

#include "daemon/checkpoints/checkpoint_service.h"

namespace graphd {

GraphSession::GraphSession(ServiceContext& context, std::shared_ptr<RequestContext> requests,
                           std::unique_ptr<JobRegistry::Membership> membership, VersionPtr version)
    : context_(context),
      requests_(std::move(requests)),
      membership_(std::move(membership)),
      version_(std::move(version)),
      graph_(*requests_, *version_->graph),
      edges_(*requests_, *version_->graph),
      tensors_(*requests_, context.tensors, context.steps, context.pushes, *membership_,
               version_->graph->partitions()[0]->shared_meta()) {}

template <class Service, class Context>
kj::Promise<void> GraphSession::Forward(RequestKind kind, const char* operation, Service& service,
                                        Method<Service, Context> method, Context& context) {
  return requests_->RunCall(kind, operation, context, thisCap(), [&](const RequestPtr& request) {
    return (service.*method)(context, request);
  });
}

template <class Service, class Context>
kj::Promise<void> GraphSession::ForwardChange(RequestKind kind, const char* operation,
                                              Service& service, Method<Service, Context> method,
                                              Context& context) {
  return requests_->RunCall(kind, operation, context, thisCap(), [&](const RequestPtr& request) {
    requests_->Require(Role::kWriter, "change tensors");
    return (service.*method)(context, request);
  });
}

kj::Promise<void> GraphSession::barrier(BarrierContext context) {
  const auto params = context.getParams();
  const std::chrono::milliseconds timeout(params.getTimeout());
  const BarrierEntry entry{params.getEntry(), params.getPassed()};
  return requests_->RunCall(
      RequestKind::kBarrier, "barrier", context, thisCap(), [&](const RequestPtr& request) {
        request->SetState(RequestState::kWaitsForTrainers);
        return requests_->UntilDisconnected(membership_->Barrier(requests_->timer(), timeout, entry)
                                                .then([context](uint64_t number) mutable {
                                                  context.getResults().setNumber(number);
                                                }));
      });
}

kj::Promise<void> GraphSession::checkpoints(CheckpointsContext context) {
  return requests_->RunCall(RequestKind::kOther, "checkpoints", context, thisCap(),
                            [&](const RequestPtr&) -> kj::Promise<void> {
                              auto count = requests_->CountCapability();
                              auto service = kj::heap<CheckpointService>(CheckpointContext{
                                  version_->graph, context_.tensors, context_.checkpoints,
                                  requests_, membership_->job_id()});
                              context.getResults().setService(service.attach(std::move(count)));
                              return kj::READY_NOW;
                            });
}

kj::Promise<void> GraphSession::countReads(CountReadsContext context) {
  return AsKj([&]() -> kj::Promise<void> {
    requests_->RequireUnixSocket();  // others can't map memory
    const MappedReads reads = ReadMappedReads(context.getParams().getReads());
    CheckToldReads(reads);
    membership_->CountMapped(reads);
    context_.counters.CountMapped(reads);
    return kj::READY_NOW;
  });
}

kj::Promise<void> GraphSession::hop(HopContext context) {
  return Forward(RequestKind::kSample, "hop", graph_, &GraphService::Hop, context);
}

kj::Promise<void> GraphSession::gather(GatherContext context) {
  return Forward(RequestKind::kGather, "gather", graph_, &GraphService::Gather, context);
}

kj::Promise<void> GraphSession::slice(SliceContext context) {
  return Forward(RequestKind::kGather, "slice", graph_, &GraphService::Slice, context);
}

kj::Promise<void> GraphSession::owners(OwnersContext context) {
  return Forward(RequestKind::kOther, "owners", graph_, &GraphService::Owners, context);
}

kj::Promise<void> GraphSession::findEdges(FindEdgesContext context) {
  return Forward(RequestKind::kEdges, "findEdges", edges_, &EdgeQueries::FindEdges, context);
}

kj::Promise<void> GraphSession::hasEdges(HasEdgesContext context) {
  return Forward(RequestKind::kEdges, "hasEdges", edges_, &EdgeQueries::HasEdges, context);
}

kj::Promise<void> GraphSession::degrees(DegreesContext context) {
  return Forward(RequestKind::kEdges, "degrees", edges_, &EdgeQueries::Degrees, context);
}

kj::Promise<void> GraphSession::induced(InducedContext context) {
  return Forward(RequestKind::kEdges, "induced", edges_, &EdgeQueries::Induced, context);
}

kj::Promise<void> GraphSession::edgeIndex(EdgeIndexContext context) {
  return Forward(RequestKind::kOther, "edgeIndex", edges_, &EdgeQueries::EdgeIndex, context);
}

kj::Promise<void> GraphSession::openTensor(OpenTensorContext context) {
  return Forward(RequestKind::kOther, "openTensor", tensors_, &TensorService::OpenTensor, context);
}

kj::Promise<void> GraphSession::filled(FilledContext context) {
  return ForwardChange(RequestKind::kOther, "filled", tensors_, &TensorService::Filled, context);
}

kj::Promise<void> GraphSession::mapTensor(MapTensorContext context) {
  return Forward(RequestKind::kOther, "mapTensor", tensors_, &TensorService::MapTensor, context);
}

kj::Promise<void> GraphSession::readRows(ReadRowsContext context) {
  return Forward(RequestKind::kReadRows, "readRows", tensors_, &TensorService::ReadRows, context);
}

kj::Promise<void> GraphSession::push(PushContext context) {
  return ForwardChange(RequestKind::kChangeRows, "push", tensors_, &TensorService::Push, context);
}

kj::Promise<void> GraphSession::stage(StageContext context) {
  return ForwardChange(RequestKind::kStep, "stage", tensors_, &TensorService::Stage, context);
}

kj::Promise<void> GraphSession::lastStep(LastStepContext context) {
  return Forward(RequestKind::kOther, "lastStep", tensors_, &TensorService::LastStep, context);
}

kj::Promise<void> GraphSession::lease(LeaseContext context) {
  return ForwardChange(RequestKind::kOther, "lease", tensors_, &TensorService::Lease, context);
}

kj::Promise<void> GraphSession::prepareState(PrepareStateContext context) {
  return ForwardChange(RequestKind::kOther, "prepareState", tensors_, &TensorService::PrepareState,
                       context);
}

kj::Promise<void> GraphSession::listTensors(ListTensorsContext context) {
  return Forward(RequestKind::kOther, "listTensors", tensors_, &TensorService::ListTensors,
                 context);
}

kj::Promise<void> GraphSession::dropTensor(DropTensorContext context) {
  return ForwardChange(RequestKind::kOther, "dropTensor", tensors_, &TensorService::DropTensor,
                       context);
}

kj::Promise<void> GraphSession::pushMemory(PushMemoryContext context) {
  return ForwardChange(RequestKind::kOther, "pushMemory", tensors_, &TensorService::SharePushMemory,
                       context);
}

}  // namespace graphd
