// SPDX-License-Identifier: Apache-2.0
#include "common/mean_neighbors.h"

#include <algorithm>

namespace examples {
namespace {

// Prefetch distance in edges: source rows are at random places, so the first lines of a row miss
// the cache; a few prefetches in flight hide most of the latency.
constexpr int64_t kAhead = 6;

}  // namespace

// Also compiled for wide vectors and selected at start: the baseline x86-64 has only 4 lanes.
#if defined(__x86_64__) && defined(__GNUC__) && !defined(GRAPHD_SANITIZED)
#define EXAMPLES_WIDE __attribute__((target_clones("arch=x86-64-v4", "arch=x86-64-v3", "default")))
#else
#define EXAMPLES_WIDE
#endif

EXAMPLES_WIDE
void MeanOfNeighbors(Csc csc, int64_t width, const float* x, float* out) {
  const int64_t destinations = static_cast<int64_t>(csc.indptr.size()) - 1;
  const int64_t edges = static_cast<int64_t>(csc.indices.size());
  const int32_t* indices = csc.indices.data();
  for (int64_t d = 0; d < destinations; ++d) {
    const int64_t begin = csc.indptr[static_cast<size_t>(d)];
    const int64_t end = csc.indptr[static_cast<size_t>(d) + 1];
    float* __restrict sum = out + d * width;
    std::fill_n(sum, width, 0.0f);
    for (int64_t e = begin; e < end; ++e) {
      if (e + kAhead < edges) {
        const float* next = x + indices[e + kAhead] * width;
        for (int64_t i = 0; i < width; i += 16) __builtin_prefetch(next + i);
      }
      const float* __restrict row = x + indices[e] * width;
      for (int64_t i = 0; i < width; ++i) sum[i] += row[i];
    }
    if (end - begin < 2) continue;
    const float scale = 1.0f / static_cast<float>(end - begin);
    for (int64_t i = 0; i < width; ++i) sum[i] *= scale;
  }
}

EXAMPLES_WIDE
void SpreadToNeighbors(Csc csc, int64_t width, const float* grad_out, float* grad_x) {
  const int64_t destinations = static_cast<int64_t>(csc.indptr.size()) - 1;
  for (int64_t d = 0; d < destinations; ++d) {
    const int64_t begin = csc.indptr[static_cast<size_t>(d)];
    const int64_t end = csc.indptr[static_cast<size_t>(d) + 1];
    if (begin == end) continue;
    const float scale = 1.0f / static_cast<float>(end - begin);
    const float* __restrict grad = grad_out + d * width;
    for (int64_t e = begin; e < end; ++e) {
      float* __restrict row = grad_x + csc.indices[static_cast<size_t>(e)] * width;
      for (int64_t i = 0; i < width; ++i) row[i] += scale * grad[i];
    }
  }
}

}  // namespace examples
