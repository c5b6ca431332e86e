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
// Returns a numpy.ndarray. Throws Error(kInvalid) for bfloat16.
py::object ToNumpy(Tensor tensor);

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

}  // namespace graphd::python
