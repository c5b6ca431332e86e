// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <cstdint>

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
  // A number that is written with this many significant digits.
  void AddDecimal(double value, int digits) noexcept;
  void Merge(const NumberSummary& part) noexcept;

  // Returns int64 if all are whole numbers of 64 bits; else float32, or float64 if a number has
  // more than 9 significant digits, is outside float32's range, or is a whole number of 10 digits
  // or more that float32 would round. It is uint8 if all are true or false, or if `mask` is set and
  // all are 0 or 1.
  DType dtype(bool mask) const noexcept;
};

}  // namespace graphd
