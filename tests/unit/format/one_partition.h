// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <string>

#include "format/load_part_config.h"
#include "format/partitioner.h"

namespace graphd::testing {

// Writes the graph as one partition to a folder, and returns its part config.
inline PartConfig WriteOnePartition(const RawGraph& graph, const std::string& folder) {
  PartitionOptions options;
  options.graph_name = "g";
  options.num_parts = 1;
  options.method = PartMethod::kRandom;
  options.output = folder;
  return LoadPartConfig(PartitionGraph(graph, options).part_config);
}

}  // namespace graphd::testing
