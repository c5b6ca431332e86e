// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "daemon/graph/served_graph.h"
#include "graph/tensor_share.h"

// Files of a checkpoint's data directory that hold the original ids of nodes or edges, so that a
// tensor can be restored to a graph with other partitions: an int64 per row, then a checksum.

namespace graphd {

// Returns the path of the file for a partition's nodes or edges of a type.
std::string OriginalIdsPath(const std::string& data, PartId part, bool is_edge, int32_t type);

// Writes the files for these shares, for those nodes and edges that have original ids, unless a
// file exists already. Throws Error(kIo) or Error(kNotFound).
void WriteOriginalIds(const ServedGraph& graph, const std::string& data,
                      const std::vector<TensorShare>& shares);

// Returns the number of ids in a file. Throws Error(kCorrupt) or Error(kIo).
int64_t CountOriginalIds(const std::string& path);
// Reads ids of the file into `out` until it is full, beginning with the id number `begin`. The file
// must have that many. The checksum at the end is not compared: whoever opens a checkpoint has
// verified all of its files (CheckpointSet::Open). Throws Error(kIo).
void ReadOriginalIds(const std::string& path, int64_t begin, std::span<std::byte> out);

}  // namespace graphd
