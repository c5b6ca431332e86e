// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <cstdint>
#include <string_view>

#include "graphd/tensor.h"

namespace graphd {

// The properties of a column's numbers that determine its dtype. The order of the numbers makes no
// difference, so a column may be summarised in parts. A plain value.
struct NumberSummary {
  bool any = false;       // a number or a missing number was added
  bool floating = false;  // a number has no integer type, or is missing
  bool wide = false;      // float32 does not preserve a number; see dtype()
  bool all_words = true;  // all values are true or false
  bool all_bits = true;   // all values are 0 or 1, or true or false

  void AddInt(int64_t value) noexcept;
  void AddWord() noexcept { any = true; }  // true or false
  // Adds a number of float32, or NaN.
  void AddFloat() noexcept {
    any = floating = true;
    all_words = all_bits = false;
  }
  void AddMissing() noexcept { AddFloat(); }
  // Adds a number that is not NaN, as if it were written with the fewest digits that identify it.
  void AddDouble(double value) noexcept;
  // Adds a whole number, which may exceed int64.
  void AddUnsigned(uint64_t value) noexcept;
  // Adds a number that is not int64 and was read from this text.
  void AddDecimal(double value, std::string_view cell) noexcept;
  void Merge(const NumberSummary& part) noexcept;

  // Returns uint8 if all values are true or false, or if `mask` is set and all values are 0 or 1.
  // Otherwise returns int64 if `floating` is not set, float64 if float32 does not preserve a
  // number, or else float32. A number is not preserved if it has more than 9 significant digits, if
  // it is outside the range of float32, or if it was added by AddInt, has 10 digits or more and
  // would be rounded. (1234567890.0, which has 9 significant digits, is hardly an id: it may be a
  // float32 that was written as text.)
  DType dtype(bool mask) const noexcept;
};

}  // namespace graphd
