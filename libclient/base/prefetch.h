// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <cstddef>

namespace graphd {

// How many rows ahead of the one at work kernels prefetch: enough to hide a memory access behind
// the work of that many rows. bench/sampling_bench and bench/method_bench show it.
constexpr size_t kPrefetchAhead = 16;

}  // namespace graphd
