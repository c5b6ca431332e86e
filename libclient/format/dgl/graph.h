// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "format/dgl/array.h"

// DGL's graph files, version 2 (graph.dgl), as far as partitions use them: one homogeneous graph,
// whose types, if any, are columns. Layout (arrays as in array.h):
//
//   file    u64 0xDD2E4FF046B4A13F, u64 version (2), u64 kind (2), u64 graphs (1), rubbish to 4096,
//           u64 start, named labels, at `start` the graph, then u64 L, u64 graphs, u64 offsets, u64
//           L = 8 + 8 * graphs, end of file
//   graph   u64 0xDD589FBE35224ABF, meta, u64 1, unit, u64 1, i64 nodes,
//           u64 1, named node columns, u64 1, named edge columns, names of node types, of edge
//           types
//   meta    u64 0xDD3C5FFE20046ABF, compressed
//   unit    u64 0xDD2E60F0F6B4A127, i64 formats stored, i64 formats allowed,
//           {meta, coo} {meta, csr} {meta, csc}, those that are stored
//   coo     u64 0xDD61FFD305DFF127, i64 cols, i64 rows, array src, dst, null, bool, bool
//   compressed  u64 0xDD6CD31205DFF127, i64 cols, i64 rows, array indptr, indices, ids, bool
//
// A formats field is 2^32 | bits (1 coo, 2 csr, 4 csc) or, if below 2^32, one format (1, 2, 3).

namespace graphd {

// Edge i goes from src[i] to dst[i] (local node ids).
struct DglCoo {
  DglArray src, dst;
};

// A compressed matrix. Its rows are sources (csr) or destinations (csc); position p of a row holds
// edge ids[p], or edge p if `ids` is empty.
struct DglCompressed {
  DglArray indptr, indices, ids;
};

// Views of a mapped file, which must outlive them. Sizes agree with one another and arrays of ids
// are int32 or int64; the ids themselves are not checked.
struct DglGraph {
  int64_t num_nodes = 0;
  int64_t num_edges = 0;
  std::optional<DglCoo> coo;
  std::optional<DglCompressed> csr, csc;  // at least one of the three is set
  std::vector<DglNamedArray> node_data;   // [num_nodes, ...]
  std::vector<DglNamedArray> edge_data;   // [num_edges, ...]
};

// Reads the headers, in constant time. Throws Error(kVersion) for files of version 1, and
// Error(kCorrupt) naming file, offset and expectation.
DglGraph ReadDglGraph(ByteReader reader);

}  // namespace graphd
