// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "format/io/line_reader.h"
#include "format/io/step_progress.h"
#include "format/io/tensor_builder.h"
#include "graphd/tensor.h"

// A reader of comma-separated numbers, gzip-compressed or plain (detected from the content),
// without quoting and without a header line. The file is streamed through one buffer. Errors are
// Error(kCorrupt) "file:line: ...". Not thread-safe.

namespace graphd {

class CsvReader {
 public:
  explicit CsvReader(const std::string& path) : lines_(path) {}

  // Moves to the next line that is not blank. Returns false at the end. Throws as LineReader::Next
  // does.
  bool NextRow();
  std::string_view row() const noexcept { return row_; }
  int64_t num_columns() const noexcept;
  // Parses the row as exactly out.size() integers.
  void ParseInts(std::span<int64_t> out) const;
  // Parses the row as exactly out.size() numbers; an empty cell and "nan" are NaN.
  void ParseFloats(std::span<float> out) const;
  // Parses the row as exactly out.size() integers; returns false if a cell is another number.
  bool TryParseInts(std::span<int64_t> out) const;

  const std::string& path() const noexcept { return lines_.path(); }
  int64_t line() const noexcept { return lines_.line(); }
  // Return the (compressed) bytes read so far and the size of the file.
  uint64_t bytes_read() const noexcept { return lines_.bytes_read(); }
  uint64_t file_bytes() const noexcept { return lines_.file_bytes(); }

  template <class... Args>
  [[noreturn]] void Fail(const Args&... args) const {
    lines_.Fail(args...);
  }

 private:
  LineReader lines_;
  std::string_view row_;
};

enum class NumberKind {
  kInfer,  // int64 if every cell of the file is an integer, else float32
  kFloat,  // always float32
};

// Reads a whole file as a tensor [rows, columns], or [rows] if it has one column. Throws
// Error(kCorrupt) with the line if a row has more or fewer columns than the first row, or if the
// file does not have `rows` rows. A file without rows gives [0]. Reports the bytes read to
// `progress`. With `spill`, the tensor is kept in a file there (TensorBuilder).
Tensor ReadCsvMatrix(const std::string& path, int64_t rows, NumberKind kind,
                     const StepProgress& progress = {}, SpillFiles* spill = nullptr);

}  // namespace graphd
