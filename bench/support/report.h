// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <benchmark/benchmark.h>

#include "bench/support/limits.h"

namespace graphd::bench {

// Sets the counters of a single-threaded benchmark that did `done` operations in all its
// iterations: their rate, and its ratio to the rate of random reads from a table of `table_bytes`.
inline void Report(benchmark::State& state, const char* things, double done, size_t table_bytes) {
  state.counters[things] = benchmark::Counter(done, benchmark::Counter::kIsRate);
  state.counters["of_limit"] =
      benchmark::Counter(done * RandomReadNs(table_bytes) / 1e9, benchmark::Counter::kIsRate);
}

}  // namespace graphd::bench
