// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "base/file.h"
#include "graphd/tensor.h"

// NumPy's .npy files (versions 1 to 3, little-endian), mapped read-only.

namespace graphd {

enum class NpyOrder { kC, kAny };

// A mapped .npy file. Read-only; safe to share between threads.
class NpyFile {
 public:
  // Throws Error(kNotFound), or Error(kCorrupt) naming file, offset and expectation: an unknown
  // dtype, Fortran order unless that is allowed (arrays of one dimension have it, too), a shape
  // that the file's size contradicts.
  explicit NpyFile(const std::string& path, NpyOrder order = NpyOrder::kC);

  const std::string& path() const noexcept { return file_.path(); }
  DType dtype() const noexcept { return dtype_; }
  const std::vector<int64_t>& shape() const noexcept { return shape_; }
  int64_t num_elements() const noexcept { return num_elements_; }
  // The first extent is the one whose elements follow one another.
  bool fortran_order() const noexcept { return fortran_order_; }
  // Where the elements begin in the file.
  uint64_t data_offset() const noexcept { return file_.bytes().size() - data_.size(); }
  // The elements; aligned as the file has them (NumPy: 16 or 64 bytes, others perhaps not at all).
  std::span<const std::byte> data() const noexcept { return data_; }

 private:
  MappedFile file_;
  DType dtype_ = DType::kFloat32;
  std::vector<int64_t> shape_;
  int64_t num_elements_ = 1;
  bool fortran_order_ = false;
  std::span<const std::byte> data_;
};

// The array of a .npy file as a tensor that keeps the mapping alive: nothing is copied (unless the
// file has its elements where the dtype can't be read from), so it may be larger than the memory.
// Don't write to it.
Tensor MapNpy(const std::string& path);

}  // namespace graphd
