// SPDX-License-Identifier: Apache-2.0
#include "ids.h"

#include <pybind11/numpy.h>

#include <string>

#include "base/strings.h"
#include "running_call.h"

namespace graphd::python {
namespace {

Tensor FromSequence(py::handle object, const char* what) {
  const auto array = py::reinterpret_steal<py::array>(
      py::module_::import("numpy").attr("asarray")(object).release());
  if (array.size() == 0) return TensorOf(std::vector<int64_t>());
  if (array.dtype().kind() != 'i') {
    Throw(ErrorCode::kInvalid, what, ": expected integers, got ",
          py::repr(object).cast<std::string>().substr(0, 80));
  }
  return FromPython(array, what);
}

}  // namespace

Ids::Ids(py::handle object, const char* what) {
  const RunningCall running;
  if (py::isinstance<py::int_>(object)) {
    tensor_ = TensorOf(std::vector<int64_t>{object.cast<int64_t>()});
    is_scalar_ = true;
    return;
  }
  const bool is_tensor = py::isinstance<py::array>(object) || py::hasattr(object, "__dlpack__");
  tensor_ = is_tensor ? FromPython(object, what) : FromSequence(object, what);
  if (tensor_.shape().empty() && tensor_.dtype() == DType::kInt64) {
    tensor_ = Tensor(DType::kInt64, {1}, tensor_.data(), tensor_.owner());
    is_scalar_ = true;
  }
  if (tensor_.shape().size() != 1 || tensor_.dtype() != DType::kInt64) {
    std::string shape;
    for (int64_t extent : tensor_.shape()) shape += StrCat(shape.empty() ? "" : ", ", extent);
    Throw(ErrorCode::kInvalid, what, ": expected a one-dimensional int64 tensor, got ",
          DTypeName(tensor_.dtype()), " of shape [", shape,
          tensor_.dtype() == DType::kBool
              ? "]; make ids of a mask (mask.nonzero().flatten(), numpy.flatnonzero(mask))"
              : "]; convert it where it is made (.long(), .astype('int64'))");
  }
}

std::vector<std::vector<int64_t>> IdsByType(const py::sequence& lists, const char* what) {
  std::vector<std::vector<int64_t>> ids;
  for (const py::handle list : lists) {
    ids.push_back(list.is_none() ? std::vector<int64_t>() : Ids(list, what).vector());
  }
  return ids;
}

TimesByType TimesFrom(const py::object& lists, const char* what) {
  TimesByType times;
  if (lists.is_none()) return times;
  const RunningCall running;
  bool has_whole = false, has_real = false;
  for (const py::handle list : lists) {
    times.whole.emplace_back();
    times.real.emplace_back();
    if (list.is_none()) continue;
    const bool is_tensor = py::isinstance<py::array>(list) || py::hasattr(list, "__dlpack__");
    const Tensor tensor =
        FromPython(is_tensor ? py::reinterpret_borrow<py::object>(list)
                             : py::object(py::module_::import("numpy").attr("asarray")(list)),
                   what);
    const bool is_whole = tensor.dtype() == DType::kInt64;
    if (tensor.shape().size() != 1 || (!is_whole && tensor.dtype() != DType::kFloat64)) {
      Throw(ErrorCode::kInvalid, what, ": expected a one-dimensional tensor of int64 or float64, ",
            "got ", DTypeName(tensor.dtype()), " of ", tensor.shape().size(), " dimensions");
    }
    if (is_whole) {
      const auto values = tensor.as<int64_t>();
      times.whole.back().assign(values.begin(), values.end());
    } else {
      const auto values = tensor.as<double>();
      times.real.back().assign(values.begin(), values.end());
    }
    (is_whole ? has_whole : has_real) = true;
  }
  if (has_whole && has_real) {
    Throw(ErrorCode::kInvalid, what, ": int64 for some types and float64 for others; give all of ",
          "them in the dtype of the column of times");
  }
  if (has_real) {
    times.whole.clear();
  } else {
    times.real.clear();
  }
  return times;
}

}  // namespace graphd::python
