// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <pybind11/pybind11.h>

#include <cstdint>
#include <span>
#include <vector>

#include "tensor.h"

namespace graphd::python {

// A one-dimensional list of int64: a tensor, or a Python int or sequence of them. Tensors of other
// dtypes are errors, since a conversion would hide a mistake and cost a copy.
class Ids {
 public:
  Ids(py::handle object, const char* what);
  std::span<const int64_t> span() const { return tensor_.as<int64_t>(); }
  operator std::span<const int64_t>() const { return span(); }
  std::vector<int64_t> vector() const { return {span().begin(), span().end()}; }
  // Whether the list was made from a single number; the result is then a single number, too.
  bool is_scalar() const noexcept { return is_scalar_; }

 private:
  Tensor tensor_;
  bool is_scalar_ = false;
};

// Returns lists of ids by type, from a sequence that has a list, or None, for each type.
std::vector<std::vector<int64_t>> IdsByType(const py::sequence& lists, const char* what);

// The times of seeds by type, as whole numbers or as floating-point ones.
struct TimesByType {
  std::vector<std::vector<int64_t>> whole;
  std::vector<std::vector<double>> real;
};
// Converts None, which stands for no times, or a sequence with a tensor or None for each type. The
// tensors are one-dimensional, all int64 or all float64; otherwise throws Error(kInvalid).
TimesByType TimesFrom(const py::object& lists, const char* what);

}  // namespace graphd::python
