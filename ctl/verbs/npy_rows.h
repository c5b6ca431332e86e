// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "base/file.h"
#include "graphd/tensor.h"

namespace graphd::ctl {

// A new .npy file with the rows of a distributed tensor, which may be written in any order. Not
// thread-safe.
class NpyRows {
 public:
  // Creates the file. `shape` begins with the number of rows. Throws Error(kExists), Error(kIo).
  NpyRows(std::string path, DType dtype, const std::vector<int64_t>& shape);

  const std::string& path() const noexcept { return path_; }

  // Writes consecutive rows of the tensor to the places that `orig_ids` name or, if that is empty,
  // from row `begin` on. Throws Error(kInvalid) if an id is not a row of the array, Error(kIo).
  void Write(int64_t begin, std::span<const int64_t> orig_ids, std::span<const std::byte> rows);

 private:
  void Put(std::span<const std::byte> bytes, uint64_t at);

  const std::string path_;
  const int64_t num_rows_;
  const size_t row_bytes_;
  UniqueFd fd_;
  uint64_t begin_ = 0;  // offset of the rows in the file
};

// Returns the name of a tensor without the characters that a file name can't contain.
std::string FileNameOf(const std::string& tensor);

// Creates a directory for the files of an export. Throws Error(kExists) if there is one that is not
// empty, Error(kIo).
void MakeExportDirectory(const std::string& directory);

}  // namespace graphd::ctl
