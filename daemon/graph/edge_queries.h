// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <kj/async.h>

#include "daemon/graph/served_graph.h"
#include "daemon/requests/request_context.h"
#include "wire/graphd.capnp.h"

namespace graphd {

// The calls of one client's session that look up the endpoints, the existence or the number of
// edges. Owned by the session, which outlives its calls; used on the connection's data thread. A
// query is one slice of work, which may run on the compute pool and owns all it touches.
//
// Each method handles the call of its name in wire::Session, and throws Error or returns a promise
// that fails.
class EdgeQueries {
 public:
  using FindEdgesContext =
      capnp::CallContext<wire::Session::FindEdgesParams, wire::Session::FindEdgesResults>;
  using HasEdgesContext =
      capnp::CallContext<wire::Session::HasEdgesParams, wire::Session::HasEdgesResults>;
  using DegreesContext =
      capnp::CallContext<wire::Session::DegreesParams, wire::Session::DegreesResults>;
  using InducedContext =
      capnp::CallContext<wire::Session::InducedParams, wire::Session::InducedResults>;
  using EdgeIndexContext =
      capnp::CallContext<wire::Session::EdgeIndexParams, wire::Session::EdgeIndexResults>;

  // Both arguments must outlive this object.
  EdgeQueries(RequestContext& requests, ServedGraph& graph) : requests_(requests), graph_(graph) {}
  EdgeQueries(const EdgeQueries&) = delete;
  EdgeQueries& operator=(const EdgeQueries&) = delete;

  kj::Promise<void> FindEdges(FindEdgesContext context, const RequestPtr& request);
  kj::Promise<void> HasEdges(HasEdgesContext context, const RequestPtr& request);
  kj::Promise<void> Degrees(DegreesContext context, const RequestPtr& request);
  kj::Promise<void> Induced(InducedContext context, const RequestPtr& request);
  // Gives the client the memory of a derived array; builds the array first if it is missing.
  kj::Promise<void> EdgeIndex(EdgeIndexContext context, const RequestPtr& request);

 private:
  RequestContext& requests_;
  ServedGraph& graph_;
};

}  // namespace graphd
