// SPDX-License-Identifier: Apache-2.0
#pragma once
#include "format/partitioner.h"

// The summary of `graphctl partition` and `graphctl convert` on standard output.

namespace graphd::ctl {

struct PartitionCost {
  double read_seconds = 0, seconds = 0;
};

// Prints the summary as JSON or as a table, with the peak memory of this process.
void PrintPartition(const PartitionSummary& summary, const PartitionCost& cost, bool json);

}  // namespace graphd::ctl
