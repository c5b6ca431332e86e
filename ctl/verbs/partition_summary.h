// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <cstdint>

#include "format/partitioner.h"

// What `graphctl partition` says on standard output when it is done.

namespace graphd::ctl {

struct PartitionCost {
  double read_seconds = 0, seconds = 0;
  uint64_t peak_bytes = 0;
};

// The most memory that this process has had so far.
uint64_t PeakMemory();

void PrintPartitionJson(const PartitionSummary& summary, const PartitionCost& cost);
void PrintPartitionTable(const PartitionSummary& summary, const PartitionCost& cost);

}  // namespace graphd::ctl
