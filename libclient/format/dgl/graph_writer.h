// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <cstdint>

#include "format/dgl/halo.h"
#include "format/dgl/output.h"

namespace graphd {

// Writes a partition's graph.dgl (layout in graph.h), with DGL's columns:
//
//   nodes  _ID int64, inner_node uint8, part_id int64 (owner; absent if there is one partition)
//   edges  _ID int64, inner_edge uint8
//   both   _TYPE int32, if the graph is heterogeneous or there is one partition
//
// `formats` are bits of dgl::kCoo, kCsr and kCsc, at least one. Each array takes one pass over the
// partition's edges; csr takes 16 bytes of memory per edge, the others nothing.
void WriteDglGraph(const DglHalo& halo, int64_t formats, DglOutput& out);

}  // namespace graphd
