// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <cstdint>
#include <functional>
#include <map>
#include <span>
#include <vector>

// Is a sample distributed as it should be? Seeds are fixed, so a test passes always or never; the
// bound on p says how unlikely it was that a right sampler fails when the seed was chosen.

namespace graphd::testing {

constexpr double kSmallestP = 1e-4;

// Probability that a chi-square variable of `degrees` degrees of freedom exceeds `statistic`.
double ChiSquareTail(double statistic, double degrees);

// The edges of one trial: a set (sorted by the caller) or a sequence.
using Outcome = std::vector<uint64_t>;
using Probabilities = std::map<Outcome, double>;
using Counts = std::map<Outcome, uint64_t>;

// Fails the test unless the counts are plausible for these probabilities (which must sum to 1) at
// kSmallestP, and nothing impossible happened. Prints p.
void ExpectDistribution(const Counts& counts, const Probabilities& expected, const char* what);
// The same for counts of 0 .. n-1 that are all equally likely; `variance` scales the variance of
// one count, below 1 when counts of one trial exclude one another.
void ExpectUniform(std::span<const uint64_t> counts, double variance, const char* what);

// All subsets of `items` of a size, equally likely.
Probabilities UniformSets(const std::vector<uint64_t>& items, size_t size);
// All sequences of `length` items drawn one after another in proportion to their weights, without
// or with replacement; weights by item. Items of weight 0 don't occur.
Probabilities Successive(const std::vector<double>& weights, size_t length, bool replace);
// Forgets the order.
Probabilities AsSets(const Probabilities& sequences);

}  // namespace graphd::testing
