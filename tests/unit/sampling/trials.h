// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <algorithm>
#include <numeric>
#include <vector>

#include "sampling/edge_sampler.h"
#include "tests/unit/sampling/chi_square.h"

namespace graphd::testing {

// Number of samples that a distribution test draws.
constexpr size_t kDistributionTrials = 60000;
// An arbitrary key, for tests that do not depend on the key.
constexpr uint64_t kSomeKey = 7;

// Returns the slots that an edge sampler sampled, row by row, counted from slot `begin`.
inline std::vector<Outcome> OutcomesOf(const EdgeSampler& edge_sampler, uint64_t begin) {
  std::vector<Outcome> outcomes;
  size_t at = 0;
  for (uint32_t count : edge_sampler.counts()) {
    Outcome& outcome = outcomes.emplace_back();
    for (uint32_t i = 0; i < count; i++) outcome.push_back(edge_sampler.slots()[at++] - begin);
  }
  return outcomes;
}

// Samples row 0 `trials` times, each time with another stream, and counts the outcomes.
inline Counts CountTrials(const EdgeSource& source, const SamplingRule& rule, size_t trials,
                          bool as_sets, const SeedTimes& times = {}) {
  const std::vector<int64_t> rows(trials, 0);
  std::vector<int64_t> streams(trials);
  std::iota(streams.begin(), streams.end(), 0);
  EdgeSampler edge_sampler;
  edge_sampler.Sample(source, rows, streams, rule, kSomeKey, times);
  Counts counts;
  for (Outcome& outcome : OutcomesOf(edge_sampler, 0)) {
    if (as_sets) std::sort(outcome.begin(), outcome.end());
    counts[outcome]++;
  }
  return counts;
}

}  // namespace graphd::testing
