// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <variant>

#include "graph/encoding.h"

namespace graphd::ctl {

// A number of a feature, without loss of precision: whole numbers keep all their digits.
using Number = std::variant<int64_t, uint64_t, double>;
double ToDouble(const Number& number) noexcept;

// The summary of some elements of a feature, as readers get them. A plain value.
struct ValueSummary {
  uint64_t count = 0;              // all elements
  uint64_t nan = 0;                // elements that are NaN
  uint64_t infinite = 0;           // infinite ones
  uint64_t zeros = 0;              // zeros
  std::optional<Number> min, max;  // the least and the largest finite element
  double mean = 0;                 // the mean of the finite elements
  // The sum of the squares of the finite elements' deviations from the mean. It may be larger than
  // the largest double.
  long double squares = 0;

  uint64_t finite() const noexcept { return count - nan - infinite; }
  // Returns the standard deviation of the finite elements. They are the whole population, so the
  // sum of squares is divided by their number.
  double Deviation() const noexcept;
  // Adds the elements of another summary of the same dtype. The sums depend, in their last digits,
  // on the order in which summaries are added.
  void Add(const ValueSummary& other) noexcept;
};

// Returns the summary of stored elements.
ValueSummary Summarize(const Encoding& encoding, std::span<const std::byte> bytes);

}  // namespace graphd::ctl
