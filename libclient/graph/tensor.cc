// SPDX-License-Identifier: Apache-2.0
#include "graphd/tensor.h"

#include <cstdlib>
#include <iterator>
#include <utility>

#include "base/strings.h"

namespace graphd {
namespace {

struct DTypeRow {
  DType dtype;
  const char* name;
  size_t size;
};

constexpr DTypeRow kRows[] = {
    {DType::kFloat16, "float16", 2}, {DType::kBFloat16, "bfloat16", 2},
    {DType::kFloat32, "float32", 4}, {DType::kFloat64, "float64", 8},
    {DType::kUInt8, "uint8", 1},     {DType::kBool, "bool", 1},
    {DType::kInt8, "int8", 1},       {DType::kInt16, "int16", 2},
    {DType::kInt32, "int32", 4},     {DType::kInt64, "int64", 8},
    {DType::kUInt16, "uint16", 2},   {DType::kUInt32, "uint32", 4},
    {DType::kUInt64, "uint64", 8},
};

static_assert(std::size(kRows) == kDTypes);

const DTypeRow& Row(DType dtype) noexcept { return kRows[static_cast<size_t>(dtype)]; }

}  // namespace

size_t DTypeSize(DType dtype) noexcept { return Row(dtype).size; }
const char* DTypeName(DType dtype) noexcept { return Row(dtype).name; }

DType DTypeFromName(const std::string& name) {
  for (const DTypeRow& row : kRows) {
    if (name == row.name) return row.dtype;
  }
  Throw(ErrorCode::kInvalid, "unknown dtype '", name, "'; known: float16, bfloat16, float32, ",
        "float64, bool, [u]int8, [u]int16, [u]int32, [u]int64");
}

Tensor::Tensor(DType dtype, std::vector<int64_t> shape, std::byte* data,
               std::shared_ptr<void> owner)
    : dtype_(dtype), shape_(std::move(shape)), data_(data), owner_(std::move(owner)) {
  for (int64_t extent : shape_) {
    if (extent < 0) Throw(ErrorCode::kInvalid, "a tensor can't have an extent of ", extent);
  }
}

Tensor Tensor::Empty(DType dtype, std::vector<int64_t> shape) {
  Tensor tensor(dtype, std::move(shape), nullptr, nullptr);
  // Align to 64 bytes: a whole cache line, and enough for any vector instruction.
  const size_t bytes = (tensor.num_bytes() + 63) / 64 * 64 + 64;
  void* block = std::aligned_alloc(64, bytes);
  if (!block) Throw(ErrorCode::kOverloaded, "no memory for a tensor of ", HumanBytes(bytes));
  tensor.owner_ = std::shared_ptr<void>(block, std::free);
  tensor.data_ = static_cast<std::byte*>(block);
  return tensor;
}

size_t Tensor::row_bytes() const noexcept {
  size_t bytes = DTypeSize(dtype_);
  for (size_t i = 1; i < shape_.size(); i++) bytes *= static_cast<size_t>(shape_[i]);
  return bytes;
}

size_t Tensor::num_bytes() const noexcept {
  return static_cast<size_t>(num_elements()) * DTypeSize(dtype_);
}

int64_t Tensor::num_elements() const noexcept {
  int64_t elements = 1;
  for (int64_t extent : shape_) elements *= extent;
  return elements;
}

void Tensor::CheckDType(DType wanted) const {
  if (wanted != dtype_) {
    Throw(ErrorCode::kInvalid, "this tensor holds ", DTypeName(dtype_), ", not ",
          DTypeName(wanted));
  }
}

}  // namespace graphd
