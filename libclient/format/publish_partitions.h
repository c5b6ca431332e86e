// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <string>

#include "format/distributed/graph_plan.h"

// The last step of partitioning by several processes. These have written complete partitions
// (distributed/part_writer.h) into a directory that nobody else reads; this step moves them to the
// output.

namespace graphd {

struct PublishOptions {
  std::string staging;  // has part<i>/ of each partition, and files of node names
  std::string output;   // on the same file system
  bool force = false;   // replace an earlier graph
};

// Checks whether PublishPartitions would refuse the plan or the options. Call it before the
// partitions are written, which takes long; the plan may have counts of 0 if they are not known
// yet. Throws as GraphPlan::Check, CheckPartitionOptions and CheckPartitionInput do.
void CheckPublishing(const GraphPlan& plan, const PublishOptions& options);

// Moves the partitions and the files of node names to the output, where they replace an earlier
// graph. Then writes the part config and returns its path. The directory `staging` remains; the
// caller must remove it. Throws Error(kCorrupt) or Error(kNotFound) if a partition is not complete;
// then the output is left as it is. After an error of the operating system, the files that were not
// moved are still in `staging`.
std::string PublishPartitions(const GraphPlan& plan, const PublishOptions& options);

}  // namespace graphd
