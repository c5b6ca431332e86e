// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <time.h>

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "store/rows/update_rule.h"

// What store_bench and tensor_bench have in common: pushes of 10,000 gradients of 128 floats to a
// table of 2.4 million rows, and the bare loop over memory that they are compared with.

namespace graphd::bench {

inline constexpr int64_t kTableRows = 2'400'000;
inline constexpr size_t kElements = 128, kPushRows = 10'000, kPushes = 64;

// Rows of kPushes pushes: uniform, or by Zipf's law with exponent 1.
std::vector<std::vector<int64_t>> DrawRows(bool zipf);
// Of one push.
const std::vector<float>& Gradients();

store::UpdateRule RuleOf(OptimizerState state);

// A tmpfs for memory of tables: $GRAPHD_BENCH_MEMORY or /dev/shm.
std::string MemoryDirectory();

double CpuSeconds(clockid_t clock);

struct LoopCost {
  double rows_per_second = 0;
  double cpu_per_row = 0;  // seconds
};
struct LoopCosts {
  LoopCost step;   // rows that are sorted already are read, stepped and written
  LoopCost cycle;  // the rows are read into a tensor first, in the order in which they were drawn
};
// Bare loops: one thread, memory on large pages, nothing kept. Measured anew each time, because
// other machines on the same host make a difference of a third from one minute to the next.
LoopCosts MeasureLoops(OptimizerState state, bool zipf);

}  // namespace graphd::bench
