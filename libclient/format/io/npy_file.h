// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "base/file.h"
#include "graphd/tensor.h"

// Support for NumPy's .npy files (versions 1 to 3, little-endian), mapped read-only.

namespace graphd {

enum class NpyOrder { kC, kAny };

// A mapped .npy file. Read-only; safe to share between threads.
class NpyFile {
 public:
  // Maps the file. Throws Error(kNotFound), or Error(kCorrupt) naming file, offset and expectation:
  // for an unknown dtype, Fortran order unless `order` allows it (one-dimensional arrays may have
  // either), or a shape that does not fit the file's size.
  explicit NpyFile(const std::string& path, NpyOrder order = NpyOrder::kC);

  const std::string& path() const noexcept { return file_.path(); }
  DType dtype() const noexcept { return dtype_; }
  const std::vector<int64_t>& shape() const noexcept { return shape_; }
  int64_t num_elements() const noexcept { return num_elements_; }
  // Returns whether elements that differ in the first index by one are adjacent.
  bool fortran_order() const noexcept { return fortran_order_; }
  // Returns the offset of the elements in the file.
  uint64_t data_offset() const noexcept { return file_.bytes().size() - data_.size(); }
  // Returns the elements, aligned as in the file (NumPy: 16 or 64 bytes, other writers: any).
  std::span<const std::byte> data() const noexcept { return data_; }

 private:
  MappedFile file_;
  DType dtype_ = DType::kFloat32;
  std::vector<int64_t> shape_;
  int64_t num_elements_ = 1;
  bool fortran_order_ = false;
  std::span<const std::byte> data_;
};

// Returns the array of a .npy file as a tensor that keeps the mapping alive. Nothing is copied
// (unless the elements are not aligned for their dtype), so the array may be larger than memory.
// Don't write to it.
Tensor MapNpy(const std::string& path);

}  // namespace graphd
