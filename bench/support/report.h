// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <benchmark/benchmark.h>

#include "bench/support/limits.h"

namespace graphd::bench {

// Counters of a benchmark that did `done` things in all its iterations, single-threaded: how many
// per second, and what share that is of one random read each from a table of `table_bytes`.
inline void Report(benchmark::State& state, const char* things, double done, size_t table_bytes) {
  state.counters[things] = benchmark::Counter(done, benchmark::Counter::kIsRate);
  state.counters["of_limit"] =
      benchmark::Counter(done * RandomReadNs(table_bytes) / 1e9, benchmark::Counter::kIsRate);
}

}  // namespace graphd::bench
