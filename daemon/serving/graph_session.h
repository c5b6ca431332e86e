// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <memory>

#include "daemon/graph/edge_queries.h"
#include "daemon/graph/graph_service.h"
#include "daemon/requests/job_registry.h"
#include "daemon/requests/request_context.h"
#include "daemon/serving/service_context.h"
#include "daemon/tensors/tensor_service.h"
#include "wire/graphd.capnp.h"

namespace graphd {

// The session of one client. It forwards each call to the service for the call's subject: the
// graph, its edges or tensors. Lives on its connection's data thread, and owns these services and
// the client's membership in its job. Exists until the client has released its capability and its
// last call has ended.
class GraphSession final : public wire::Session::Server {
 public:
  GraphSession(ServiceContext& context, std::shared_ptr<RequestContext> requests,
               std::unique_ptr<JobRegistry::Membership> membership, VersionPtr version);

 protected:
  kj::Promise<void> hop(HopContext context) override;
  kj::Promise<void> gather(GatherContext context) override;
  kj::Promise<void> slice(SliceContext context) override;
  kj::Promise<void> owners(OwnersContext context) override;
  kj::Promise<void> barrier(BarrierContext context) override;
  kj::Promise<void> findEdges(FindEdgesContext context) override;
  kj::Promise<void> hasEdges(HasEdgesContext context) override;
  kj::Promise<void> degrees(DegreesContext context) override;
  kj::Promise<void> induced(InducedContext context) override;
  kj::Promise<void> edgeIndex(EdgeIndexContext context) override;
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
  kj::Promise<void> checkpoints(CheckpointsContext context) override;
  kj::Promise<void> countReads(CountReadsContext context) override;

 private:
  template <class Service, class Context>
  using Method = kj::Promise<void> (Service::*)(Context, const RequestPtr&);
  // Runs service.method(context, request) by RequestContext::RunCall.
  template <class Service, class Context>
  kj::Promise<void> Forward(RequestKind kind, const char* operation, Service& service,
                            Method<Service, Context> method, Context& context);
  // Does the same for a call that only a writer may make.
  template <class Service, class Context>
  kj::Promise<void> ForwardChange(RequestKind kind, const char* operation, Service& service,
                                  Method<Service, Context> method, Context& context);

  ServiceContext& context_;
  const std::shared_ptr<RequestContext> requests_;
  const std::unique_ptr<JobRegistry::Membership> membership_;
  const VersionPtr version_;  // the job's version of the graph
  GraphService graph_;
  EdgeQueries edges_;
  TensorService tensors_;
};

}  // namespace graphd
