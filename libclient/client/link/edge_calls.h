// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <cstdint>
#include <span>
#include <vector>

#include "client/link/daemon_link.h"
#include "graph/partition.h"

// Functions that query the edges of one partition. Each one starts a call and returns; the RPC
// thread writes the outputs until Wait on the result has returned. Widths are those of the types'
// ids. All calls except StartInduced are divided into messages of moderate size.

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
