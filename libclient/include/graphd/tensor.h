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

// Dense, contiguous, row-major arrays in host memory, used for features and mini-batches.

namespace GRAPHD_EXPORT graphd {

// The element types. The unsigned types of more than 8 bits serve the graph structure; the others
// are those of DGL's features.
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
// The number of dtypes.
inline constexpr uint8_t kDTypes = static_cast<uint8_t>(DType::kUInt64) + 1;

// Returns the size of one element in bytes.
size_t DTypeSize(DType dtype) noexcept;
// Returns the name that NumPy and PyTorch use: "float32", "int64", "bool" ...
const char* DTypeName(DType dtype) noexcept;
// Returns the dtype of a name; the inverse of DTypeName. Throws Error(kInvalid) on an unknown name.
DType DTypeFromName(const std::string& name);

// Returns the DType of a C++ type: DTypeOf<float>() == DType::kFloat32.
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

// A dense array. It shares ownership of the memory that it shows (a mapped segment, a pooled buffer
// or a heap block), so that it can outlive the object that made it. Copies show the same memory.
// Concurrent reads are safe; the caller must synchronise writes.
class Tensor {
 public:
  // Makes an empty float32 vector, shape [0].
  Tensor() = default;

  // Makes a view of `data`, which `owner` keeps alive. `data` must have num_bytes() bytes.
  Tensor(DType dtype, std::vector<int64_t> shape, std::byte* data, std::shared_ptr<void> owner);

  // Allocates an array without initialising it. Throws Error(kInvalid) on a negative extent.
  static Tensor Empty(DType dtype, std::vector<int64_t> shape);

  // Returns the element type.
  DType dtype() const noexcept { return dtype_; }
  // Returns the dimensions.
  const std::vector<int64_t>& shape() const noexcept { return shape_; }
  // Returns the first extent; 1 for a scalar, shape [].
  int64_t num_rows() const noexcept { return shape_.empty() ? 1 : shape_[0]; }
  // Returns the bytes of one row: the product of the dimensions after the first, times the size of
  // an element.
  size_t row_bytes() const noexcept;
  // Returns the bytes of all elements.
  size_t num_bytes() const noexcept;
  // Returns the number of elements.
  int64_t num_elements() const noexcept;

  // Returns the first element's address.
  std::byte* data() noexcept { return data_; }
  // Returns the first element's address.
  const std::byte* data() const noexcept { return data_; }

  // Returns the elements as a span of T. Throws Error(kInvalid) if T is not the dtype.
  template <class T>
  std::span<T> as() {
    CheckDType(DTypeOf<T>());
    return {reinterpret_cast<T*>(data_), Count()};
  }
  // Returns the elements as a span of const T. Throws Error(kInvalid) if T is not the dtype.
  template <class T>
  std::span<const T> as() const {
    CheckDType(DTypeOf<T>());
    return {reinterpret_cast<const T*>(data_), Count()};
  }

  // Returns the owner of the memory.
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
