// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <cstdint>
#include <functional>
#include <map>
#include <span>
#include <vector>

// Tests whether samples have the expected distribution. Seeds are fixed, so a test passes always or
// never; the bound on p is the probability that a correct sampler fails with a random seed.

namespace graphd::testing {

constexpr double kSmallestP = 1e-4;

// Returns the probability that a chi-square variable of `degrees` degrees of freedom exceeds
// `statistic`.
double ChiSquareTail(double statistic, double degrees);

// The edges of one trial: a set (sorted by the caller) or a sequence.
using Outcome = std::vector<uint64_t>;
using Probabilities = std::map<Outcome, double>;
using Counts = std::map<Outcome, uint64_t>;

// Fails the test if the counts are implausible for these probabilities, which must sum to 1 (p is
// below kSmallestP), or have an outcome that is not expected. Prints p.
void ExpectDistribution(const Counts& counts, const Probabilities& expected, const char* what);
// Does the same for outcomes 0 .. n-1 that are equally likely. `variance` scales the variance of a
// count; it is below 1 if the outcomes of a trial exclude one another.
void ExpectUniform(std::span<const uint64_t> counts, double variance, const char* what);

// Returns all subsets of `items` that have `size` elements; they are equally likely.
Probabilities UniformSets(const std::vector<uint64_t>& items, size_t size);
// Returns all sequences of `length` items that are drawn one after another in proportion to their
// weights, with or without replacement. `weights` has a weight for each item; items of weight 0
// don't occur.
Probabilities Successive(const std::vector<double>& weights, size_t length, bool replace);
// Ignores the order: adds up the probabilities of sequences of the same items.
Probabilities AsSets(const Probabilities& sequences);

}  // namespace graphd::testing
