// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <cstdint>
#include <span>
#include <vector>

#include "client/link/daemon_link.h"
#include "graph/partition.h"

// Questions about the edges of one partition. Each call starts and returns; wait on the result.
// Outputs are written by the RPC thread until then. Widths are those of the types' ids. All but
// StartInduced are cut into messages of a good size.

namespace graphd {

// Bytes of an id on the wire.
struct EdgeWidths {
  size_t src, dst, edge;
};

// The in-edges of some nodes that begin in a set of members.
struct InducedPart {
  std::vector<uint32_t> counts;   // per node
  std::vector<uint32_t> indices;  // per edge: the source's position among the members
  std::vector<int64_t> edge_ids;
};

RpcThread::Pending StartFindEdges(DaemonLink& link, PartId part, EdgeTypeId etype,
                                  const EdgeWidths& widths, std::span<const int64_t> ids,
                                  int64_t* src, int64_t* dst);
RpcThread::Pending StartHasEdges(DaemonLink& link, PartId part, EdgeTypeId etype,
                                 const EdgeWidths& widths, std::span<const int64_t> src,
                                 std::span<const int64_t> dst, uint8_t* found);
RpcThread::Pending StartDegrees(DaemonLink& link, PartId part, EdgeTypeId etype, bool outward,
                                size_t width, std::span<const int64_t> ids, int64_t* degrees);
RpcThread::Pending StartInduced(DaemonLink& link, PartId part, EdgeTypeId etype,
                                const EdgeWidths& widths, std::span<const int64_t> seeds,
                                std::span<const int64_t> members, InducedPart* out);

}  // namespace graphd
