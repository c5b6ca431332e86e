// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include "format/io/spill_files.h"
#include "graphd/tensor.h"

namespace graphd {

// A tensor that grows while its rows are read. It doubles its memory by realloc, which moves large
// blocks without copying them; or, with `spill`, moves its elements to a file there, 256 KiB at a
// time, and the finished tensor is a mapping of the file. Not thread-safe.
class TensorBuilder {
 public:
  explicit TensorBuilder(DType dtype, SpillFiles* spill = nullptr) : dtype_(dtype), spill_(spill) {}
  TensorBuilder(TensorBuilder&& o) noexcept;
  TensorBuilder& operator=(TensorBuilder&& o) noexcept;
  ~TensorBuilder();

  DType dtype() const noexcept { return dtype_; }
  size_t num_elements() const noexcept { return (spilled_ + bytes_) / DTypeSize(dtype_); }
  // Appends an element. Requires: T is the dtype.
  template <class T>
  void Append(T value) {
    if (bytes_ + sizeof(T) > capacity_) Grow(sizeof(T));
    *reinterpret_cast<T*>(data_ + bytes_) = value;
    bytes_ += sizeof(T);
  }
  void Append(std::span<const std::byte> bytes);
  // Returns the elements so far; valid until the next Append. Requires: the builder does not spill.
  template <class T>
  std::span<const T> as() const {
    return {reinterpret_cast<const T*>(data_), bytes_ / sizeof(T)};
  }
  // Calls f(element) for the elements so far, in their order.
  template <class T, class F>
  void ForEach(F&& f) const {
    std::vector<std::byte> piece;
    for (uint64_t done = 0; done < spilled_; done += piece.size()) {
      ReadSpilled(done, piece);
      const auto* values = reinterpret_cast<const T*>(piece.data());
      for (size_t i = 0; i < piece.size() / sizeof(T); i++) f(values[i]);
    }
    for (const T value : as<T>()) f(value);
  }
  // Returns the tensor, trimmed to its size. Throws Error(kInvalid) unless `shape` has exactly the
  // elements appended.
  Tensor Finish(std::vector<int64_t> shape) &&;

 private:
  void Grow(size_t more);
  void ReadSpilled(uint64_t offset, std::vector<std::byte>& piece) const;
  DType dtype_;
  SpillFiles* spill_;
  std::unique_ptr<SpillFile> file_;  // the first spilled_ bytes, if any
  uint64_t spilled_ = 0;
  std::byte* data_ = nullptr;
  size_t bytes_ = 0, capacity_ = 0;
};

}  // namespace graphd
