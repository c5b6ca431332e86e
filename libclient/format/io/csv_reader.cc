// SPDX-License-Identifier: Apache-2.0
#include "format/io/csv_reader.h"

#include <algorithm>
#include <charconv>
#include <cmath>
#include <cstring>
#include <limits>

namespace graphd {
namespace {

// Removes the text up to the next comma from `rest` and returns it.
std::string_view NextCell(std::string_view& rest) {
  const void* comma = rest.empty() ? nullptr : std::memchr(rest.data(), ',', rest.size());
  const size_t length =
      comma ? static_cast<size_t>(static_cast<const char*>(comma) - rest.data()) : rest.size();
  const std::string_view cell = rest.substr(0, length);
  rest.remove_prefix(std::min(length + 1, rest.size()));
  return TrimBlanks(cell);
}

bool ParseIntCell(std::string_view cell, int64_t& value) {
  const auto [end, error] = std::from_chars(cell.data(), cell.data() + cell.size(), value);
  return error == std::errc() && end == cell.data() + cell.size() && !cell.empty();
}

bool ParseFloatCell(std::string_view cell, float& value) {
  if (cell.empty()) {
    value = std::numeric_limits<float>::quiet_NaN();
    return true;
  }
  const char* last = cell.data() + cell.size();
  const auto [end, error] = std::from_chars(cell.data(), last, value);
  if (error == std::errc()) return end == last;
  // The value is too small or too large for a float: parse a double, which rounds to 0 or infinity.
  double wide = 0;
  const auto [wide_end, wide_error] = std::from_chars(cell.data(), last, wide);
  if (wide_error != std::errc() || wide_end != last) return false;
  value = static_cast<float>(wide);
  return true;
}

}  // namespace

bool CsvReader::NextRow() {
  while (lines_.Next()) {
    row_ = TrimBlanks(lines_.text());
    if (!row_.empty()) return true;
  }
  return false;
}

int64_t CsvReader::num_columns() const noexcept {
  return 1 + std::count(row_.begin(), row_.end(), ',');
}

void CsvReader::ParseInts(std::span<int64_t> out) const {
  if (TryParseInts(out)) return;
  std::string_view rest = row_;
  int64_t value = 0;
  for (std::string_view cell = NextCell(rest);; cell = NextCell(rest)) {
    if (!ParseIntCell(cell, value)) {
      Fail("'", cell.substr(0, 40), "' is not a whole number of 64 bits");
    }
  }
}

bool CsvReader::TryParseInts(std::span<int64_t> out) const {
  std::string_view rest = row_;
  for (int64_t& value : out) {
    if (!ParseIntCell(NextCell(rest), value)) {
      if (num_columns() == static_cast<int64_t>(out.size())) return false;
      break;
    }
  }
  if (num_columns() != static_cast<int64_t>(out.size())) {
    Fail(num_columns(), " columns, expected ", out.size());
  }
  return true;
}

void CsvReader::ParseFloats(std::span<float> out) const {
  std::string_view rest = row_;
  for (float& value : out) {
    const std::string_view cell = NextCell(rest);
    if (!ParseFloatCell(cell, value)) Fail("'", cell.substr(0, 40), "' is not a number");
  }
  if (!rest.empty() || num_columns() != static_cast<int64_t>(out.size())) {
    Fail(num_columns(), " columns, expected ", out.size());
  }
}

Tensor ReadCsvMatrix(const std::string& path, int64_t rows, NumberKind kind,
                     const StepProgress& progress, SpillFiles* spill) {
  CsvReader csv(path);
  TensorBuilder ints(DType::kInt64, spill), floats(DType::kFloat32, spill);
  bool integral = kind == NumberKind::kInfer;
  int64_t count = 0, columns = 1;
  std::vector<int64_t> int_row;
  std::vector<float> float_row;
  while (csv.NextRow()) {
    if (count == 0) {
      columns = csv.num_columns();
      int_row.resize(static_cast<size_t>(columns));
      float_row.resize(static_cast<size_t>(columns));
    }
    if (count == rows) csv.Fail("more rows than the ", rows, " expected");
    if (integral && !csv.TryParseInts(int_row)) {
      // The first cell that is not an integer turns the column into floats.
      integral = false;
      ints.ForEach<int64_t>([&](int64_t value) { floats.Append(static_cast<float>(value)); });
    }
    if (integral) {
      ints.Append(std::as_bytes(std::span(int_row)));
    } else {
      csv.ParseFloats(float_row);
      floats.Append(std::as_bytes(std::span(float_row)));
    }
    if (++count % 1024 == 0 && progress) {
      progress("reading " + path, csv.bytes_read(), csv.file_bytes());
    }
  }
  if (progress) progress("reading " + path, csv.file_bytes(), csv.file_bytes());
  if (count != rows) csv.Fail("the file ends after ", count, " rows, expected ", rows);
  const std::vector<int64_t> shape =
      columns == 1 ? std::vector<int64_t>{rows} : std::vector<int64_t>{rows, columns};
  return integral ? std::move(ints).Finish(shape) : std::move(floats).Finish(shape);
}

}  // namespace graphd
