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

// Conversion of tensors between Python and libclient. Both sides share the memory, and each of them
// keeps it alive. The functions need the GIL.

namespace graphd::python {

namespace py = pybind11;

// Returns a torch.Tensor or a numpy.ndarray, as graphd.use chose. Throws Error(kInvalid) on a dtype
// that the library does not have.
py::object ToPython(Tensor tensor);

// Moves a vector into a tensor without copying its elements.
template <class T>
Tensor TensorOf(std::vector<T> values) {
  auto owner = std::make_shared<std::vector<T>>(std::move(values));
  auto* data = reinterpret_cast<std::byte*>(owner->data());
  const auto size = static_cast<int64_t>(owner->size());
  return Tensor(DTypeOf<T>(), {size}, data, std::move(owner));
}
// Returns a view of memory that `owner` keeps alive.
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

// Chooses the library of the tensors that ToPython makes: torch, given its `from_dlpack`, or NumPy,
// given None.
void UseTensorsOf(py::object from_dlpack, py::object torch_bool);

// Converts a tensor of torch, NumPy or any library with DLPack. Shares the memory unless the tensor
// is not contiguous, which needs a copy. Throws Error(kInvalid), naming `what`, for another device
// than the CPU and for dtypes that graphd does not have.
Tensor FromPython(py::handle object, const char* what);

// A one-dimensional list of int64: a tensor, or a Python int or sequence of them. Tensors of other
// dtypes are errors, since a conversion would hide a mistake and cost a copy.
class Ids {
 public:
  Ids(py::handle object, const char* what);
  std::span<const int64_t> span() const { return tensor_.as<int64_t>(); }
  operator std::span<const int64_t>() const { return span(); }
  std::vector<int64_t> vector() const { return {span().begin(), span().end()}; }
  // Whether it was made from a single number, so that the result is a single number, too.
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
