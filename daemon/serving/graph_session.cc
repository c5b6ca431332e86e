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
kj::Promise<void> GraphSession::Forward(Service& service,
                                        kj::Promise<void> (Service::*method)(Context),
                                        Context& context) {
  return requests_->RunCall(context, thisCap(), [&] { return (service.*method)(context); });
}

template <class Service, class Context>
kj::Promise<void> GraphSession::ForwardChange(Service& service,
                                              kj::Promise<void> (Service::*method)(Context),
                                              Context& context) {
  return requests_->RunCall(context, thisCap(), [&] {
    requests_->Require(Role::kWriter, "change tensors");
    return (service.*method)(context);
  });
}

kj::Promise<void> GraphSession::barrier(BarrierContext context) {
  const std::chrono::milliseconds timeout(context.getParams().getTimeout());
  return requests_->RunCall(context, thisCap(),
                            [&] { return membership_->Barrier(requests_->timer(), timeout); });
}

kj::Promise<void> GraphSession::checkpoints(CheckpointsContext context) {
  return requests_->RunCall(context, thisCap(), [&]() -> kj::Promise<void> {
    auto count = requests_->CountCapability();
    auto service = kj::heap<CheckpointService>(CheckpointContext{
        context_.graph, context_.tensors, context_.checkpoints, requests_, membership_->job_id()});
    context.getResults().setService(service.attach(std::move(count)));
    return kj::READY_NOW;
  });
}

kj::Promise<void> GraphSession::hop(HopContext context) {
  return Forward(graph_, &GraphService::Hop, context);
}

kj::Promise<void> GraphSession::gather(GatherContext context) {
  return Forward(graph_, &GraphService::Gather, context);
}

kj::Promise<void> GraphSession::slice(SliceContext context) {
  return Forward(graph_, &GraphService::Slice, context);
}

kj::Promise<void> GraphSession::owners(OwnersContext context) {
  return Forward(graph_, &GraphService::Owners, context);
}

kj::Promise<void> GraphSession::findEdges(FindEdgesContext context) {
  return Forward(edges_, &EdgeQueries::FindEdges, context);
}

kj::Promise<void> GraphSession::hasEdges(HasEdgesContext context) {
  return Forward(edges_, &EdgeQueries::HasEdges, context);
}

kj::Promise<void> GraphSession::degrees(DegreesContext context) {
  return Forward(edges_, &EdgeQueries::Degrees, context);
}

kj::Promise<void> GraphSession::induced(InducedContext context) {
  return Forward(edges_, &EdgeQueries::Induced, context);
}

kj::Promise<void> GraphSession::edgeIndex(EdgeIndexContext context) {
  return Forward(edges_, &EdgeQueries::EdgeIndex, context);
}

kj::Promise<void> GraphSession::openTensor(OpenTensorContext context) {
  return Forward(tensors_, &TensorService::OpenTensor, context);
}

kj::Promise<void> GraphSession::filled(FilledContext context) {
  return ForwardChange(tensors_, &TensorService::Filled, context);
}

kj::Promise<void> GraphSession::mapTensor(MapTensorContext context) {
  return Forward(tensors_, &TensorService::MapTensor, context);
}

kj::Promise<void> GraphSession::readRows(ReadRowsContext context) {
  return Forward(tensors_, &TensorService::ReadRows, context);
}

kj::Promise<void> GraphSession::push(PushContext context) {
  return ForwardChange(tensors_, &TensorService::Push, context);
}

kj::Promise<void> GraphSession::stage(StageContext context) {
  return ForwardChange(tensors_, &TensorService::Stage, context);
}

kj::Promise<void> GraphSession::lastStep(LastStepContext context) {
  return Forward(tensors_, &TensorService::LastStep, context);
}

kj::Promise<void> GraphSession::lease(LeaseContext context) {
  return ForwardChange(tensors_, &TensorService::Lease, context);
}

kj::Promise<void> GraphSession::prepareState(PrepareStateContext context) {
  return ForwardChange(tensors_, &TensorService::PrepareState, context);
}

kj::Promise<void> GraphSession::listTensors(ListTensorsContext context) {
  return Forward(tensors_, &TensorService::ListTensors, context);
}

kj::Promise<void> GraphSession::dropTensor(DropTensorContext context) {
  return ForwardChange(tensors_, &TensorService::DropTensor, context);
}

kj::Promise<void> GraphSession::pushMemory(PushMemoryContext context) {
  return ForwardChange(tensors_, &TensorService::SharePushMemory, context);
}

}  // namespace graphd
