// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <cstddef>

namespace graphd {

// Number of rows that kernels prefetch ahead of the current one: enough to hide a memory access
// behind the work on those rows. bench/sampling_bench and bench/method_bench measure it.
constexpr size_t kPrefetchAhead = 16;

}  // namespace graphd
