// SPDX-License-Identifier: Apache-2.0
#include "tests/unit/sampling/chi_square.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <numeric>

namespace graphd::testing {
namespace {

std::string Text(const Outcome& outcome) {
  std::string text;
  for (uint64_t x : outcome) text += std::to_string(x) + " ";
  return text;
}

void Judge(double statistic, double degrees, const char* what) {
  const double p = ChiSquareTail(statistic, degrees);
  std::printf("%s: chi-square %.1f with %.0f degrees of freedom, p = %.2g (at least %.0e)\n", what,
              statistic, degrees, p, kSmallestP);
  EXPECT_GE(p, kSmallestP) << what;
}

}  // namespace

double ChiSquareTail(double statistic, double degrees) {
  // Computes the upper incomplete gamma function Q(a, x), by a series if x < a + 1, otherwise by a
  // continued fraction (Lentz's method).
  const double a = degrees / 2, x = statistic / 2;
  if (x <= 0) return 1;
  const double front = std::exp(-x + a * std::log(x) - std::lgamma(a));
  if (x < a + 1) {
    double term = 1 / a, sum = term;
    for (double n = a + 1; term > sum * 1e-15; n++) sum += term *= x / n;
    return 1 - front * sum;
  }
  constexpr double kTiny = 1e-300;
  double b = x + 1 - a, c = 1 / kTiny, d = 1 / b, h = d;
  for (int i = 1; i < 100000; i++) {
    const double an = -i * (i - a);
    b += 2;
    d = an * d + b;
    if (std::abs(d) < kTiny) d = kTiny;
    c = b + an / c;
    if (std::abs(c) < kTiny) c = kTiny;
    d = 1 / d;
    const double delta = d * c;
    h *= delta;
    if (std::abs(delta - 1) < 1e-14) break;
  }
  return front * h;
}

void ExpectDistribution(const Counts& counts, const Probabilities& expected, const char* what) {
  double trials = 0, sum = 0;
  for (const auto& [outcome, count] : counts) {
    trials += static_cast<double>(count);
    EXPECT_TRUE(expected.contains(outcome)) << what << ": impossible: " << Text(outcome);
  }
  // Outcomes that are expected less than 5 times are counted as one.
  double statistic = 0, rare_expected = 0, rare_seen = 0, cells = 0;
  for (const auto& [outcome, probability] : expected) {
    sum += probability;
    const auto found = counts.find(outcome);
    const double seen = found == counts.end() ? 0 : static_cast<double>(found->second);
    const double mean = trials * probability;
    if (mean < 5) {
      rare_expected += mean;
      rare_seen += seen;
      continue;
    }
    statistic += (seen - mean) * (seen - mean) / mean;
    cells++;
  }
  EXPECT_NEAR(sum, 1, 1e-9) << what;
  if (rare_expected > 0) {
    statistic += (rare_seen - rare_expected) * (rare_seen - rare_expected) / rare_expected;
    cells++;
  }
  ASSERT_GE(cells, 2) << what << ": too few trials to tell";
  Judge(statistic, cells - 1, what);
}

void ExpectUniform(std::span<const uint64_t> counts, double variance, const char* what) {
  const double mean = static_cast<double>(std::accumulate(counts.begin(), counts.end(), 0ull)) /
                      static_cast<double>(counts.size());
  ASSERT_GE(mean, 5) << what << ": too few trials to tell";
  double statistic = 0;
  for (uint64_t count : counts) {
    statistic += (static_cast<double>(count) - mean) * (static_cast<double>(count) - mean) / mean;
  }
  Judge(statistic / variance, static_cast<double>(counts.size() - 1), what);
}

Probabilities UniformSets(const std::vector<uint64_t>& items, size_t size) {
  Probabilities sets;
  std::vector<bool> chosen(items.size());
  std::fill(chosen.begin(), chosen.begin() + static_cast<ptrdiff_t>(size), true);
  do {
    Outcome set;
    for (size_t i = 0; i < items.size(); i++) {
      if (chosen[i]) set.push_back(items[i]);
    }
    std::sort(set.begin(), set.end());
    sets[set] = 0;
  } while (std::prev_permutation(chosen.begin(), chosen.end()));
  for (auto& [set, probability] : sets) probability = 1 / static_cast<double>(sets.size());
  return sets;
}

Probabilities Successive(const std::vector<double>& weights, size_t length, bool replace) {
  Probabilities sequences;
  const std::function<void(Outcome, std::vector<double>, double)> extend =
      [&](Outcome head, std::vector<double> left, double probability) {
        const double total = std::accumulate(left.begin(), left.end(), 0.0);
        if (head.size() == length || total == 0) {
          sequences[head] += probability;
          return;
        }
        for (size_t i = 0; i < left.size(); i++) {
          if (left[i] == 0) continue;
          Outcome longer = head;
          longer.push_back(i);
          std::vector<double> rest = left;
          if (!replace) rest[i] = 0;
          extend(longer, rest, probability * left[i] / total);
        }
      };
  extend({}, weights, 1);
  return sequences;
}

Probabilities AsSets(const Probabilities& sequences) {
  Probabilities sets;
  for (auto [sequence, probability] : sequences) {
    Outcome set = sequence;
    std::sort(set.begin(), set.end());
    sets[set] += probability;
  }
  return sets;
}

}  // namespace graphd::testing
