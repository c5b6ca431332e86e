// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <cstddef>

namespace graphd {

// The number of rows by which loops over rows prefetch ahead of the current row. The work on so
// many rows takes about as long as a memory access. bench/sampling_bench and bench/method_bench
// measure the effect.
constexpr size_t kPrefetchAhead = 16;

}  // namespace graphd
