// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <time.h>

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "store/rows/apply_rule.h"

// The common part of the benchmarks of tables: pushes of 10,000 gradients of 128 floats to a
// table of 2.4 million rows, and the plain loop over memory with which they are compared.

namespace graphd::bench {

inline constexpr int64_t kTableRows = 2'400'000;
inline constexpr size_t kElements = 128, kPushRows = 10'000, kPushes = 64;

// Draws the rows of kPushes pushes: uniform, or by Zipf's law with exponent 1.
std::vector<std::vector<int64_t>> DrawRows(bool zipf);
// Returns the gradients of one push.
const std::vector<float>& Gradients();

UpdateRule RuleOf(OptimizerState state);

// Returns the tmpfs for the memory of tables: $GRAPHD_BENCH_MEMORY or /dev/shm.
std::string MemoryDirectory();

double CpuSeconds(clockid_t clock);

struct LoopCost {
  double rows_per_second = 0;
  double cpu_per_row = 0;  // seconds
};
struct LoopCosts {
  LoopCost step;   // sorted rows are read, updated and written
  LoopCost cycle;  // the same after the rows are read into a tensor in random order
};
// Measures plain loops on one thread, in memory on huge pages, which store nothing in files. They
// are measured again for each benchmark, because other virtual machines on the host change the rate
// by a third within minutes.
LoopCosts MeasureLoops(OptimizerState state, bool zipf);

}  // namespace graphd::bench
