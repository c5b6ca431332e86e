// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <pybind11/pybind11.h>

#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "graphd/tensor.h"

// Tensors between Python and libclient: the same bytes on both sides, kept alive by whoever holds
// them. Functions here need the GIL.

namespace graphd::python {

namespace py = pybind11;

// A torch.Tensor or a numpy.ndarray, as graphd.use says. Throws Error(kInvalid) on a dtype that the
// library does not have.
py::object ToPython(Tensor tensor);

// The same for what a call returned. The vector moves; its elements do not.
template <class T>
Tensor TensorOf(std::vector<T> values) {
  auto owner = std::make_shared<std::vector<T>>(std::move(values));
  auto* data = reinterpret_cast<std::byte*>(owner->data());
  const auto size = static_cast<int64_t>(owner->size());
  return Tensor(DTypeOf<T>(), {size}, data, std::move(owner));
}
// A view of what `owner` keeps alive.
template <class T>
Tensor ViewOf(std::span<const T> values, std::shared_ptr<const void> owner) {
  auto* data = reinterpret_cast<std::byte*>(const_cast<T*>(values.data()));
  return Tensor(DTypeOf<T>(), {static_cast<int64_t>(values.size())}, data,
                std::const_pointer_cast<void>(std::move(owner)));
}
template <class T>
py::object ToPython(std::vector<T> values) {
  return ToPython(TensorOf(std::move(values)));
}

// Which library's tensors ToPython makes: `from_dlpack` of torch, or None for NumPy's.
void UseTensorsOf(py::object from_dlpack, py::object torch_bool);

// A tensor of torch, NumPy or anyone who speaks DLPack. Shares the memory; only what is not
// contiguous is copied. Throws Error(kInvalid), naming `what`, on another device than the CPU and
// on dtypes that are not ours.
Tensor FromPython(py::handle object, const char* what);

// A one-dimensional list of int64: a tensor, or a Python int or sequence of them. Tensors of other
// dtypes are refused, for a conversion would hide a mistake and cost a copy.
class Ids {
 public:
  Ids(py::handle object, const char* what);
  std::span<const int64_t> span() const { return tensor_.as<int64_t>(); }
  operator std::span<const int64_t>() const { return span(); }
  std::vector<int64_t> vector() const { return {span().begin(), span().end()}; }
  // Whether it was a Python int, to be answered with one.
  bool is_scalar() const noexcept { return is_scalar_; }

 private:
  Tensor tensor_;
  bool is_scalar_ = false;
};

// [type] lists of ids, from a sequence that has one, or None, for each type.
std::vector<std::vector<int64_t>> IdsByType(const py::sequence& lists, const char* what);

// When seeds ask, by type: in whole numbers or in floating-point ones.
struct TimesByType {
  std::vector<std::vector<int64_t>> whole;
  std::vector<std::vector<double>> real;
};
// From None, which is no times, or a sequence that has a one-dimensional int64 or float64 tensor,
// or None, for each type. Throws Error(kInvalid) if types differ in that.
TimesByType TimesFrom(const py::object& lists, const char* what);

}  // namespace graphd::python
