// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <cstdint>
#include <span>
#include <vector>

#include "client/link/daemon_link.h"
#include "graph/partition.h"

// Functions that query the edges of one partition. Each function starts a call and returns without
// waiting. The RPC thread writes the outputs; they are complete when Wait on the result has
// returned. EdgeWidths are the widths of the ids of the edge type and its node types. All calls
// except StartInduced are divided into messages of moderate size.

namespace graphd {

// The bytes that an id takes on the wire, by what it identifies.
struct EdgeWidths {
  size_t src, dst, edge;
};

// The in-edges of some nodes whose sources belong to a set of nodes, the members.
struct InducedPart {
  std::vector<uint32_t> counts;   // per node
  std::vector<uint32_t> indices;  // per edge: the source's position among the members
  std::vector<int64_t> edge_ids;
};

// `num_src` and `num_dst` are the numbers of nodes of the edge type's node types.
RpcThread::Pending StartFindEdges(DaemonLink& link, PartId part, EdgeTypeId etype,
                                  const EdgeWidths& widths, int64_t num_src, int64_t num_dst,
                                  std::span<const int64_t> ids, int64_t* src, int64_t* dst);
RpcThread::Pending StartHasEdges(DaemonLink& link, PartId part, EdgeTypeId etype,
                                 const EdgeWidths& widths, std::span<const int64_t> src,
                                 std::span<const int64_t> dst, uint8_t* found);
RpcThread::Pending StartDegrees(DaemonLink& link, PartId part, EdgeTypeId etype, bool outward,
                                size_t width, std::span<const int64_t> ids, int64_t* degrees);
RpcThread::Pending StartInduced(DaemonLink& link, PartId part, EdgeTypeId etype,
                                const EdgeWidths& widths, std::span<const int64_t> seeds,
                                std::span<const int64_t> members, InducedPart* out);

}  // namespace graphd
