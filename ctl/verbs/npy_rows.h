// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "base/file.h"
#include "graphd/tensor.h"

namespace graphd::ctl {

// A new .npy file with the rows of a distributed tensor. The rows may be written in any sequence.
// The file gets its final name when it is complete. Not thread-safe.
class NpyRows {
 public:
  // Creates the file. `shape` begins with the number of rows. Throws Error(kIo).
  NpyRows(std::string path, DType dtype, const std::vector<int64_t>& shape);
  // Removes the file unless it is complete.
  ~NpyRows();
  NpyRows(const NpyRows&) = delete;
  NpyRows& operator=(const NpyRows&) = delete;

  const std::string& path() const noexcept { return path_; }

  // Writes consecutive rows of the tensor. Each becomes the row of the array whose number is its id
  // in `orig_ids`. If `orig_ids` is empty, the rows become the rows from `begin` on. Throws
  // Error(kInvalid) if an id is not the number of a row, or if there is not one id for each row,
  // and Error(kIo) if writing fails.
  void Write(int64_t begin, std::span<const int64_t> orig_ids, std::span<const std::byte> rows);

  // Ends the file. Throws Error(kIo).
  void Finish();

 private:
  void Put(std::span<const std::byte> bytes, uint64_t at);

  const std::string path_, part_path_;  // part_path_ until the file is complete
  const int64_t num_rows_;
  const size_t row_bytes_;
  UniqueFd fd_;
  bool finished_ = false;
  uint64_t begin_ = 0;  // offset of the rows in the file
};

// Returns the names, without a suffix, of the files for these tensors: the names of the tensors,
// without the characters that a file name can't contain. Throws Error(kExists) if two tensors would
// get the same name, and Error(kInvalid) for a name that is too long for a file.
std::vector<std::string> FileStemsOf(const std::vector<std::string>& tensors);

// Creates a directory for the files of an export. Throws Error(kExists) if the directory exists and
// is not empty, and Error(kIo) if it can't be created.
void MakeExportDirectory(const std::string& directory);

}  // namespace graphd::ctl
