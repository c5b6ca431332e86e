// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "base/file.h"
#include "graphd/tensor.h"

namespace graphd::ctl {

// A new .npy file with the rows of a distributed tensor, which may be written in any order. The
// file gets its final name when it is complete. Not thread-safe.
class NpyRows {
 public:
  // Creates the file. `shape` begins with the number of rows. Throws Error(kIo).
  NpyRows(std::string path, DType dtype, const std::vector<int64_t>& shape);
  // Removes the file unless it is complete.
  ~NpyRows();
  NpyRows(const NpyRows&) = delete;
  NpyRows& operator=(const NpyRows&) = delete;

  const std::string& path() const noexcept { return path_; }

  // Writes consecutive rows of the tensor to the places that `orig_ids` name or, if that is empty,
  // from row `begin` on. Throws Error(kInvalid) if an id is not a row of the array or there is not
  // one id per row, and Error(kIo) if writing fails.
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

// Returns the stems of the files for tensors: their names, without the characters that a file name
// can't contain. Throws Error(kExists) if two tensors would get the same one, and Error(kInvalid)
// for a name that is too long for a file.
std::vector<std::string> FileStemsOf(const std::vector<std::string>& tensors);

// Creates a directory for the files of an export. Throws Error(kExists) if the directory exists and
// is not empty, and Error(kIo) if it can't be created.
void MakeExportDirectory(const std::string& directory);

}  // namespace graphd::ctl
