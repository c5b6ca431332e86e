// SPDX-License-Identifier: Apache-2.0
#include "tensor.h"

#include <pybind11/numpy.h>

#include "base/strings.h"
#include "dlpack.h"
#include "running_call.h"

namespace graphd::python {
namespace {

// The instance is never destroyed, because Python may end before static objects do.
struct Library {
  py::object from_dlpack;  // null stands for NumPy
  py::object torch_bool;
};
Library& library() {
  static auto* const instance = new Library;
  return *instance;
}

DLDataType ToDl(DType dtype) {
  const auto bits = static_cast<uint8_t>(8 * DTypeSize(dtype));
  switch (dtype) {
    case DType::kFloat16:
    case DType::kFloat32:
    case DType::kFloat64:
      return {kDLFloat, bits, 1};
    case DType::kBFloat16:
      return {kDLBfloat, bits, 1};
    case DType::kInt8:
    case DType::kInt16:
    case DType::kInt32:
    case DType::kInt64:
      return {kDLInt, bits, 1};
    case DType::kUInt8:
    case DType::kBool:  // torch 1.13 does not import bool; ToTorch converts it
      return {kDLUInt, bits, 1};
    case DType::kUInt16:
    case DType::kUInt32:
    case DType::kUInt64:
      break;
  }
  Throw(ErrorCode::kInvalid, "torch has no dtype ", DTypeName(dtype),
        "; read it as a NumPy array: graphd.use('numpy')");
}

struct Shared {
  Tensor tensor;
  DLManagedTensor managed = {};
};

// Frees the tensor of a capsule that was not consumed.
void Unconsumed(PyObject* capsule) {
  if (!PyCapsule_IsValid(capsule, "dltensor")) return;
  auto* managed = static_cast<DLManagedTensor*>(PyCapsule_GetPointer(capsule, "dltensor"));
  managed->deleter(managed);
}

py::object ToTorch(Tensor tensor) {
  const DType dtype = tensor.dtype();
  const DLDataType type = ToDl(dtype);
  auto* shared = new Shared{std::move(tensor)};
  const std::vector<int64_t>& shape = shared->tensor.shape();
  static int64_t nothing = 0;  // the address of empty tensors
  void* data = shared->tensor.data() ? shared->tensor.data() : static_cast<void*>(&nothing);
  shared->managed.dl_tensor = {data,
                               {kDLCpu, 0},
                               static_cast<int32_t>(shape.size()),
                               type,
                               const_cast<int64_t*>(shape.data()),  // torch does not write to it
                               nullptr,
                               0};
  shared->managed.manager_ctx = shared;
  shared->managed.deleter = [](DLManagedTensor* managed) {
    delete static_cast<Shared*>(managed->manager_ctx);
  };
  PyObject* capsule = PyCapsule_New(&shared->managed, "dltensor", Unconsumed);
  if (capsule == nullptr) {
    delete shared;
    throw py::error_already_set();
  }
  const auto owner = py::reinterpret_steal<py::object>(capsule);
  PyObject* from_capsule = PyObject_CallOneArg(library().from_dlpack.ptr(), capsule);
  if (from_capsule == nullptr) throw py::error_already_set();
  auto made = py::reinterpret_steal<py::object>(from_capsule);
  return dtype == DType::kBool ? made.attr("view")(library().torch_bool) : made;
}

}  // namespace

py::object ToNumpy(Tensor tensor) {
  if (tensor.dtype() == DType::kBFloat16) {
    Throw(ErrorCode::kInvalid,
          "NumPy has no bfloat16; install torch, or keep the feature in another dtype");
  }
  const std::vector<int64_t> shape = tensor.shape();
  const py::dtype dtype(DTypeName(tensor.dtype()));
  // Strides are given, because pybind11 would otherwise read the dtype's size, and Debian's version
  // reads it where NumPy 1 has it.
  std::vector<int64_t> strides(shape.size());
  auto stride = static_cast<int64_t>(DTypeSize(tensor.dtype()));
  for (size_t i = shape.size(); i-- > 0; stride *= shape[i]) strides[i] = stride;
  void* data = tensor.data();
  if (data == nullptr) return py::array(dtype, shape, strides);
  py::capsule owner(new Tensor(std::move(tensor)),
                    [](void* kept) { delete static_cast<Tensor*>(kept); });
  return py::array(dtype, shape, strides, data, owner);
}

void UseTensorsOf(py::object from_dlpack, py::object torch_bool) {
  library().from_dlpack = from_dlpack.is_none() ? py::object() : std::move(from_dlpack);
  library().torch_bool = std::move(torch_bool);
}

py::object ToPython(Tensor tensor) {
  const RunningCall running;
  return library().from_dlpack ? ToTorch(std::move(tensor)) : ToNumpy(std::move(tensor));
}

}  // namespace graphd::python
