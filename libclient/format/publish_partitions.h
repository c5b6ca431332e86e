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

// Throws as GraphPlan::Check, CheckPartitionOptions and CheckPartitionInput do. Call it before the
// long part begins, with counts of 0 if they are not known yet.
void CheckPublishing(const GraphPlan& plan, const PublishOptions& options);

// Moves the partitions and names to the output, where they replace an earlier graph, writes the
// part config at the end, and returns its path. The directory `staging` remains; its owner must
// remove it. Throws Error(kCorrupt) or Error(kNotFound) if a partition is not complete; then the
// output is left as it is. After an error of the operating system, the files that were not moved
// are still in `staging`.
std::string PublishPartitions(const GraphPlan& plan, const PublishOptions& options);

}  // namespace graphd
