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

// Comma-separated numbers, gzip-compressed or plain (told by the content), without quoting and
// without a header line. Streamed through one buffer. Errors are Error(kCorrupt) "file:line: ...".
// One thread at a time.

namespace graphd {

class CsvReader {
 public:
  explicit CsvReader(const std::string& path) : lines_(path) {}

  // Moves to the next line that is not blank. False at the end. Throws as LineReader::Next does.
  bool NextRow();
  std::string_view row() const noexcept { return row_; }
  int64_t num_columns() const noexcept;
  // The row as exactly out.size() integers.
  void ParseInts(std::span<int64_t> out) const;
  // The row as exactly out.size() numbers; an empty cell and "nan" are NaN.
  void ParseFloats(std::span<float> out) const;
  // True if the row was exactly out.size() integers; false if a cell is some other number.
  bool TryParseInts(std::span<int64_t> out) const;

  const std::string& path() const noexcept { return lines_.path(); }
  int64_t line() const noexcept { return lines_.line(); }
  // Compressed bytes read, of the file's size.
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
  kFloat,  // float32 whatever it looks like
};

// A whole file as a tensor [rows, columns], or [rows] if there is one column. Throws
// Error(kCorrupt) with the line if a row has another number of columns than the first, or if there
// are not `rows` rows. A file without rows gives [0]. Reports bytes of the file to `progress`.
Tensor ReadCsvMatrix(const std::string& path, int64_t rows, NumberKind kind,
                     const StepProgress& progress = {});

}  // namespace graphd
