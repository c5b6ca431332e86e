// SPDX-License-Identifier: Apache-2.0
#include <pybind11/numpy.h>

#include <optional>

#include "base/strings.h"
#include "call.h"
#include "dlpack.h"
#include "tensor.h"

namespace graphd::python {
namespace {

std::string Text(py::handle object) { return py::str(object).cast<std::string>(); }

std::optional<DType> FromDl(DLDataType type) {
  if (type.lanes != 1) return std::nullopt;
  struct Pair {
    DLCode code;
    uint8_t bits;
    DType dtype;
  };
  static constexpr Pair kPairs[] = {
      {kDLFloat, 16, DType::kFloat16}, {kDLFloat, 32, DType::kFloat32},
      {kDLFloat, 64, DType::kFloat64}, {kDLBfloat, 16, DType::kBFloat16},
      {kDLInt, 8, DType::kInt8},       {kDLInt, 16, DType::kInt16},
      {kDLInt, 32, DType::kInt32},     {kDLInt, 64, DType::kInt64},
      {kDLUInt, 8, DType::kUInt8},     {kDLUInt, 16, DType::kUInt16},
      {kDLUInt, 32, DType::kUInt32},   {kDLUInt, 64, DType::kUInt64},
      {kDLBool, 8, DType::kBool}};
  for (const Pair& pair : kPairs) {
    if (pair.code == type.code && pair.bits == type.bits) return pair.dtype;
  }
  return std::nullopt;
}

Tensor FromNumpy(py::array array, const char* what) {
  const py::dtype type = array.dtype();
  std::optional<DType> dtype;
  const std::string order = Text(type.attr("byteorder"));
  if (order != ">" && type.kind() != 'V') {
    // Debian's pybind11 would read the size where NumPy 1 has it, so Python is asked for it.
    const auto bits = static_cast<uint8_t>(8 * type.attr("itemsize").cast<size_t>());
    switch (type.kind()) {
      case 'b':
        dtype = DType::kBool;
        break;
      case 'i':
        dtype = FromDl({kDLInt, bits, 1});
        break;
      case 'u':
        dtype = FromDl({kDLUInt, bits, 1});
        break;
      case 'f':
        dtype = FromDl({kDLFloat, bits, 1});
        break;
      default:
        break;
    }
  }
  if (!dtype) {
    Throw(ErrorCode::kInvalid, what, ": dtype ", Text(type),
          " is not one of graphd's; convert it with astype");
  }
  if (!(array.flags() & py::array::c_style)) {
    array = py::array::ensure(array, py::array::c_style);
    if (!array) throw py::error_already_set();
  }
  std::vector<int64_t> shape(array.shape(), array.shape() + array.ndim());
  auto* data = const_cast<std::byte*>(static_cast<const std::byte*>(array.data()));
  return Tensor(*dtype, std::move(shape), data, Keep(std::move(array)));
}

bool IsContiguous(const DLTensor& tensor) {
  if (tensor.strides == nullptr) return true;
  int64_t wanted = 1;
  for (int32_t i = tensor.ndim - 1; i >= 0; i--) {
    if (tensor.shape[i] == 0) return true;
    if (tensor.shape[i] != 1 && tensor.strides[i] != wanted) return false;
    wanted *= tensor.shape[i];
  }
  return true;
}

Tensor FromDlpack(const py::object& object, const char* what) {
  // The attribute `device` covers more devices than DLPack does, so it is asked first.
  const bool has_device = py::hasattr(object, "device");
  const bool is_here =
      has_device
          ? Text(object.attr("device")).starts_with("cpu")
          : object.attr("__dlpack_device__")().cast<std::pair<int32_t, int32_t>>().first == kDLCpu;
  if (!is_here) {
    Throw(ErrorCode::kInvalid, what, ": is on device ",
          Text(py::getattr(object, "device", py::str("?"))),
          "; graphd works in host memory, so copy it with .cpu()");
  }
  py::object source = object;
  // Tensors with gradients do not export DLPack, and autograd does not need to record this.
  if (py::hasattr(object, "requires_grad") && object.attr("requires_grad").cast<bool>()) {
    source = object.attr("detach")();
  }
  // torch 1.13 does not export tensors of bool.
  const bool is_bool = Text(py::getattr(object, "dtype", py::none())) == "torch.bool";
  if (is_bool) source = source.attr("view")(py::module_::import("torch").attr("uint8"));
  const py::object capsule = source.attr("__dlpack__")();
  auto* managed = static_cast<DLManagedTensor*>(PyCapsule_GetPointer(capsule.ptr(), "dltensor"));
  if (managed == nullptr) throw py::error_already_set();
  const DLTensor& tensor = managed->dl_tensor;
  const std::optional<DType> dtype = is_bool ? std::optional(DType::kBool) : FromDl(tensor.dtype);
  if (!dtype) {
    Throw(ErrorCode::kInvalid, what, ": dtype ", Text(object.attr("dtype")),
          " is not one of graphd's; convert it to one that is");
  }
  if (!IsContiguous(tensor)) return FromDlpack(object.attr("contiguous")(), what);
  // This consumes the capsule, so that the deleter has to be called here.
  PyCapsule_SetName(capsule.ptr(), "used_dltensor");
  std::shared_ptr<void> owner(managed, [](void* kept) {
    if (!Py_IsInitialized()) return;
    py::gil_scoped_acquire gil;
    auto* used = static_cast<DLManagedTensor*>(kept);
    if (used->deleter != nullptr) used->deleter(used);
  });
  auto* data = static_cast<std::byte*>(tensor.data) + tensor.byte_offset;
  return Tensor(*dtype, std::vector<int64_t>(tensor.shape, tensor.shape + tensor.ndim), data,
                std::move(owner));
}

}  // namespace

Tensor FromPython(py::handle object, const char* what) {
  const RunningCall running;
  if (py::isinstance<py::array>(object)) {
    return FromNumpy(py::reinterpret_borrow<py::array>(object), what);
  }
  if (py::hasattr(object, "__dlpack__")) {
    return FromDlpack(py::reinterpret_borrow<py::object>(object), what);
  }
  Throw(ErrorCode::kInvalid, what, ": expected a torch.Tensor or a numpy.ndarray, got ",
        Text(py::type::of(object)));
}

}  // namespace graphd::python
