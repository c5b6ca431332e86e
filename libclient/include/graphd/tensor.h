// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "graphd/error.h"
#include "graphd/export.h"

// Dense, contiguous, row-major arrays in host memory, as they lie in features and mini-batches.
// A Tensor shares ownership of the bytes it shows (a mapped segment, a pooled buffer, a heap
// block), so it outlives whatever made it. Copying one copies the handle. Reading one from several
// threads is safe; writing is the caller's to order.

namespace GRAPHD_EXPORT graphd {

// Element types; the first nine are DGL's feature dtypes, the unsigned ones serve graph structure.
enum class DType : uint8_t {
  kFloat16,
  kBFloat16,
  kFloat32,
  kFloat64,
  kUInt8,
  kBool,
  kInt8,
  kInt16,
  kInt32,
  kInt64,
  kUInt16,
  kUInt32,
  kUInt64,
};

// Bytes of one element.
size_t DTypeSize(DType dtype) noexcept;
// "float32", "int64", "bool" ... as NumPy and PyTorch name them.
const char* DTypeName(DType dtype) noexcept;
// Inverse of DTypeName. Throws Error(kInvalid) on an unknown name.
DType DTypeFromName(const std::string& name);

// The DType of a C++ type: DTypeOf<float>() == DType::kFloat32.
template <class T>
constexpr DType DTypeOf();
template <>
constexpr DType DTypeOf<float>() {
  return DType::kFloat32;
}
template <>
constexpr DType DTypeOf<double>() {
  return DType::kFloat64;
}
template <>
constexpr DType DTypeOf<bool>() {
  return DType::kBool;
}
template <>
constexpr DType DTypeOf<uint8_t>() {
  return DType::kUInt8;
}
template <>
constexpr DType DTypeOf<int8_t>() {
  return DType::kInt8;
}
template <>
constexpr DType DTypeOf<int16_t>() {
  return DType::kInt16;
}
template <>
constexpr DType DTypeOf<int32_t>() {
  return DType::kInt32;
}
template <>
constexpr DType DTypeOf<int64_t>() {
  return DType::kInt64;
}
template <>
constexpr DType DTypeOf<uint16_t>() {
  return DType::kUInt16;
}
template <>
constexpr DType DTypeOf<uint32_t>() {
  return DType::kUInt32;
}
template <>
constexpr DType DTypeOf<uint64_t>() {
  return DType::kUInt64;
}

class Tensor {
 public:
  Tensor() = default;  // an empty float32 vector, shape [0]

  // A view of `data`, which `owner` keeps alive. `data` must hold num_bytes() bytes.
  Tensor(DType dtype, std::vector<int64_t> shape, std::byte* data, std::shared_ptr<void> owner);

  // Fresh memory, not initialised. Throws Error(kInvalid) on a negative extent.
  static Tensor Empty(DType dtype, std::vector<int64_t> shape);

  DType dtype() const noexcept { return dtype_; }
  const std::vector<int64_t>& shape() const noexcept { return shape_; }
  int64_t num_rows() const noexcept { return shape_.empty() ? 1 : shape_[0]; }
  // Bytes of one row (the product of the extents after the first, times the element's size).
  size_t row_bytes() const noexcept;
  size_t num_bytes() const noexcept;
  int64_t num_elements() const noexcept;

  std::byte* data() noexcept { return data_; }
  const std::byte* data() const noexcept { return data_; }

  // The elements as T. Throws Error(kInvalid) if T is not the dtype.
  template <class T>
  std::span<T> as() {
    CheckDType(DTypeOf<T>());
    return {reinterpret_cast<T*>(data_), Count()};
  }
  template <class T>
  std::span<const T> as() const {
    CheckDType(DTypeOf<T>());
    return {reinterpret_cast<const T*>(data_), Count()};
  }

  // What keeps data() alive.
  const std::shared_ptr<void>& owner() const noexcept { return owner_; }

 private:
  void CheckDType(DType wanted) const;
  size_t Count() const noexcept { return static_cast<size_t>(num_elements()); }

  DType dtype_ = DType::kFloat32;
  std::vector<int64_t> shape_ = {0};
  std::byte* data_ = nullptr;
  std::shared_ptr<void> owner_;
};

}  // namespace graphd
