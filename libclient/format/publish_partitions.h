// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <string>

#include "format/distributed/graph_plan.h"

// The last step of partitioning by several processes, each of which has written complete partitions
// (distributed/part_writer.h) into a directory that nobody else reads.

namespace graphd {

struct PublishOptions {
  std::string staging;  // has part<i>/ of each partition, and files of node names
  std::string output;   // on the same file system
  bool force = false;   // replace an earlier graph
};

// Throws as CheckPartitionOptions does: before the long part begins.
void CheckPublishing(const std::string& graph_name, int32_t num_parts,
                     const PublishOptions& options);

// Moves the partitions and names to the output, in place of an earlier graph there, writes the part
// config, last, and removes `staging`. Returns the part config's path. Throws Error(kCorrupt) or
// Error(kNotFound) if a partition is not complete; then the output is left as it is.
std::string PublishPartitions(const GraphPlan& plan, const PublishOptions& options);

}  // namespace graphd
