// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "graphd/tensor.h"

namespace graphd {

// A tensor that grows while its rows are read. It doubles its memory by realloc, which moves large
// blocks without copying them. Not thread-safe.
class TensorBuilder {
 public:
  explicit TensorBuilder(DType dtype) : dtype_(dtype) {}
  TensorBuilder(TensorBuilder&& o) noexcept;
  TensorBuilder& operator=(TensorBuilder&& o) noexcept;
  ~TensorBuilder();

  DType dtype() const noexcept { return dtype_; }
  size_t num_elements() const noexcept { return bytes_ / DTypeSize(dtype_); }
  // Appends an element. Requires: T is the dtype.
  template <class T>
  void Append(T value) {
    if (bytes_ + sizeof(T) > capacity_) Grow(sizeof(T));
    *reinterpret_cast<T*>(data_ + bytes_) = value;
    bytes_ += sizeof(T);
  }
  void Append(std::span<const std::byte> bytes);
  // Returns the elements so far; valid until the next Append.
  template <class T>
  std::span<const T> as() const {
    return {reinterpret_cast<const T*>(data_), bytes_ / sizeof(T)};
  }
  // Returns the tensor, trimmed to its size. Throws Error(kInvalid) unless `shape` has exactly the
  // elements appended.
  Tensor Finish(std::vector<int64_t> shape) &&;

 private:
  void Grow(size_t more);
  DType dtype_;
  std::byte* data_ = nullptr;
  size_t bytes_ = 0, capacity_ = 0;
};

}  // namespace graphd
