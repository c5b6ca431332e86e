// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <kj/async.h>

#include <cstddef>
#include <memory>
#include <span>

#include "daemon/graph/served_graph.h"
#include "daemon/requests/request_context.h"
#include "wire/graphd.capnp.h"

namespace graphd {

// The calls of one client's session that sample neighbours and read features. Owned by the session,
// which outlives its calls; used on the connection's data thread. The slices of a request may run
// on the compute pool; they own all they touch, so that a client may disconnect meanwhile.
//
// Each method handles the call of its name in wire::Session, and throws Error or returns a promise
// that fails.
class GraphService {
 public:
  using HopContext = capnp::CallContext<wire::Session::HopParams, wire::Session::HopResults>;
  using GatherContext =
      capnp::CallContext<wire::Session::GatherParams, wire::Session::GatherResults>;
  using OwnersContext =
      capnp::CallContext<wire::Session::OwnersParams, wire::Session::OwnersResults>;
  using SliceContext = capnp::CallContext<wire::Session::SliceParams, wire::Session::SliceResults>;

  // Both arguments must outlive this object.
  GraphService(RequestContext& requests, ServedGraph& graph) : requests_(requests), graph_(graph) {}
  GraphService(const GraphService&) = delete;
  GraphService& operator=(const GraphService&) = delete;

  kj::Promise<void> Hop(HopContext context, const RequestPtr& request);
  kj::Promise<void> Gather(GatherContext context, const RequestPtr& request);
  kj::Promise<void> Slice(SliceContext context, const RequestPtr& request);
  kj::Promise<void> Owners(OwnersContext context, const RequestPtr& request);

 private:
  // Answers with `size` bytes, which fill(out) writes on the compute pool and adopt(results,
  // orphan) puts into the answer.
  template <class Context, class Fill, class Set>
  kj::Promise<void> Answer(const RequestPtr& request, Context context, size_t size, Fill fill,
                           Set adopt);

  RequestContext& requests_;
  ServedGraph& graph_;
};

}  // namespace graphd
