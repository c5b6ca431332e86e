// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "base/file.h"
#include "graphd/tensor.h"

// NumPy's .npy files (versions 1 to 3, little-endian, C order), mapped read-only.

namespace graphd {

// A mapped .npy file. Read-only; safe to share between threads.
class NpyFile {
 public:
  // Throws Error(kNotFound), or Error(kCorrupt) naming file, offset and expectation: an unknown
  // dtype, Fortran order, a shape that the file's size contradicts.
  explicit NpyFile(const std::string& path);

  const std::string& path() const noexcept { return file_.path(); }
  DType dtype() const noexcept { return dtype_; }
  const std::vector<int64_t>& shape() const noexcept { return shape_; }
  int64_t num_elements() const noexcept { return num_elements_; }
  // The elements; aligned as the file has them (NumPy: 16 or 64 bytes, others perhaps not at all).
  std::span<const std::byte> data() const noexcept { return data_; }

 private:
  MappedFile file_;
  DType dtype_ = DType::kFloat32;
  std::vector<int64_t> shape_;
  int64_t num_elements_ = 1;
  std::span<const std::byte> data_;
};

}  // namespace graphd
