// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <cstdint>

#include "format/partitioner.h"

// Prints the summary of `graphctl partition` on standard output.

namespace graphd::ctl {

struct PartitionCost {
  double read_seconds = 0, seconds = 0;
  uint64_t peak_bytes = 0;
};

// Returns the peak resident memory of this process in bytes.
uint64_t PeakMemory();

void PrintPartitionJson(const PartitionSummary& summary, const PartitionCost& cost);
void PrintPartitionTable(const PartitionSummary& summary, const PartitionCost& cost);

}  // namespace graphd::ctl
