// SPDX-License-Identifier: Apache-2.0
#include "daemon/serving/graph_session.h"

#include <utility>

#include "daemon/checkpoints/checkpoint_service.h"

namespace graphd {

GraphSession::GraphSession(ServiceContext& context, std::shared_ptr<RequestContext> requests,
                           std::unique_ptr<JobRegistry::Membership> membership)
    : context_(context),
      requests_(std::move(requests)),
      membership_(std::move(membership)),
      graph_(*requests_, context.graph),
      edges_(*requests_, context.graph),
      tensors_(*requests_, context.tensors, context.steps, context.pushes, *membership_) {}

template <class Service, class Context>
kj::Promise<void> GraphSession::Forward(RequestKind kind, Service& service,
                                        kj::Promise<void> (Service::*method)(Context),
                                        Context& context) {
  return requests_->RunCall(kind, context, thisCap(), [&] { return (service.*method)(context); });
}

template <class Service, class Context>
kj::Promise<void> GraphSession::ForwardChange(RequestKind kind, Service& service,
                                              kj::Promise<void> (Service::*method)(Context),
                                              Context& context) {
  return requests_->RunCall(kind, context, thisCap(), [&] {
    requests_->Require(Role::kWriter, "change tensors");
    return (service.*method)(context);
  });
}

kj::Promise<void> GraphSession::barrier(BarrierContext context) {
  const std::chrono::milliseconds timeout(context.getParams().getTimeout());
  return requests_->RunCall(RequestKind::kBarrier, context, thisCap(),
                            [&] { return membership_->Barrier(requests_->timer(), timeout); });
}

kj::Promise<void> GraphSession::checkpoints(CheckpointsContext context) {
  return requests_->RunCall(RequestKind::kOther, context, thisCap(), [&]() -> kj::Promise<void> {
    auto count = requests_->CountCapability();
    auto service = kj::heap<CheckpointService>(CheckpointContext{
        context_.graph, context_.tensors, context_.checkpoints, requests_, membership_->job_id()});
    context.getResults().setService(service.attach(std::move(count)));
    return kj::READY_NOW;
  });
}

kj::Promise<void> GraphSession::hop(HopContext context) {
  return Forward(RequestKind::kSample, graph_, &GraphService::Hop, context);
}

kj::Promise<void> GraphSession::gather(GatherContext context) {
  return Forward(RequestKind::kGather, graph_, &GraphService::Gather, context);
}

kj::Promise<void> GraphSession::slice(SliceContext context) {
  return Forward(RequestKind::kGather, graph_, &GraphService::Slice, context);
}

kj::Promise<void> GraphSession::owners(OwnersContext context) {
  return Forward(RequestKind::kOther, graph_, &GraphService::Owners, context);
}

kj::Promise<void> GraphSession::findEdges(FindEdgesContext context) {
  return Forward(RequestKind::kEdges, edges_, &EdgeQueries::FindEdges, context);
}

kj::Promise<void> GraphSession::hasEdges(HasEdgesContext context) {
  return Forward(RequestKind::kEdges, edges_, &EdgeQueries::HasEdges, context);
}

kj::Promise<void> GraphSession::degrees(DegreesContext context) {
  return Forward(RequestKind::kEdges, edges_, &EdgeQueries::Degrees, context);
}

kj::Promise<void> GraphSession::induced(InducedContext context) {
  return Forward(RequestKind::kEdges, edges_, &EdgeQueries::Induced, context);
}

kj::Promise<void> GraphSession::edgeIndex(EdgeIndexContext context) {
  return Forward(RequestKind::kOther, edges_, &EdgeQueries::EdgeIndex, context);
}

kj::Promise<void> GraphSession::openTensor(OpenTensorContext context) {
  return Forward(RequestKind::kOther, tensors_, &TensorService::OpenTensor, context);
}

kj::Promise<void> GraphSession::filled(FilledContext context) {
  return ForwardChange(RequestKind::kOther, tensors_, &TensorService::Filled, context);
}

kj::Promise<void> GraphSession::mapTensor(MapTensorContext context) {
  return Forward(RequestKind::kOther, tensors_, &TensorService::MapTensor, context);
}

kj::Promise<void> GraphSession::readRows(ReadRowsContext context) {
  return Forward(RequestKind::kReadRows, tensors_, &TensorService::ReadRows, context);
}

kj::Promise<void> GraphSession::push(PushContext context) {
  return ForwardChange(RequestKind::kChangeRows, tensors_, &TensorService::Push, context);
}

kj::Promise<void> GraphSession::stage(StageContext context) {
  return ForwardChange(RequestKind::kChangeRows, tensors_, &TensorService::Stage, context);
}

kj::Promise<void> GraphSession::lastStep(LastStepContext context) {
  return Forward(RequestKind::kOther, tensors_, &TensorService::LastStep, context);
}

kj::Promise<void> GraphSession::lease(LeaseContext context) {
  return ForwardChange(RequestKind::kOther, tensors_, &TensorService::Lease, context);
}

kj::Promise<void> GraphSession::prepareState(PrepareStateContext context) {
  return ForwardChange(RequestKind::kOther, tensors_, &TensorService::PrepareState, context);
}

kj::Promise<void> GraphSession::listTensors(ListTensorsContext context) {
  return Forward(RequestKind::kOther, tensors_, &TensorService::ListTensors, context);
}

kj::Promise<void> GraphSession::dropTensor(DropTensorContext context) {
  return ForwardChange(RequestKind::kOther, tensors_, &TensorService::DropTensor, context);
}

kj::Promise<void> GraphSession::pushMemory(PushMemoryContext context) {
  return ForwardChange(RequestKind::kOther, tensors_, &TensorService::SharePushMemory, context);
}

}  // namespace graphd
