// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <cstdint>
#include <string_view>

#include "graphd/tensor.h"

namespace graphd {

// The properties of a column's numbers that determine its dtype. The order of the numbers makes no
// difference, so a column may be summarised in parts. A plain value.
struct NumberSummary {
  bool any = false;       // there are numbers, or missing ones
  bool floating = false;  // a number is not of a whole number's type, or is missing
  bool wide = false;      // float32 does not preserve a number's digits, or its size
  bool all_words = true;  // all are true or false
  bool all_bits = true;   // all are 0 or 1, or true or false

  void AddInt(int64_t value) noexcept;
  void AddWord() noexcept { any = true; }  // true or false
  // A number of float32, or NaN.
  void AddFloat() noexcept {
    any = floating = true;
    all_words = all_bits = false;
  }
  void AddMissing() noexcept { AddFloat(); }
  // A number that is not NaN and would be written with the least digits that identify it.
  void AddDouble(double value) noexcept;
  // A whole number, which may exceed int64.
  void AddUnsigned(uint64_t value) noexcept;
  // A number that is not int64 and was read from this text.
  void AddDecimal(double value, std::string_view cell) noexcept;
  void Merge(const NumberSummary& part) noexcept;

  // Returns int64 if all are whole numbers of 64 bits; else float32, or float64 if a number has
  // more than 9 significant digits, is outside float32's range, or was added by AddInt, has 10
  // digits or more and would be rounded by float32. (1234567890.0, which has 9 significant digits,
  // is hardly an id; it may be a number of float32 that was written as text.) It is uint8 if all
  // are true or false, or if `mask` is set and all are 0 or 1.
  DType dtype(bool mask) const noexcept;
};

}  // namespace graphd
