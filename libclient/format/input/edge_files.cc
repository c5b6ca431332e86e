// SPDX-License-Identifier: Apache-2.0
#include "format/input/edge_files.h"

#include <fcntl.h>

#include <algorithm>
#include <array>
#include <filesystem>

#include "base/file.h"
#include "format/input/column_files.h"
#include "format/io/table_reader.h"

namespace graphd {

bool NamesSeveralFiles(const std::string& path) {
  if (FileExists(path)) return std::filesystem::is_directory(path);
  return path.find_first_of("*?[") != path.npos;
}

EdgeFileKind EdgeFileKindOf(const std::string& path) {
  if (NamesSeveralFiles(path)) return EdgeFileKind::kColumns;
  std::array<char, 6> begin{};
  const size_t size = std::min<uint64_t>(FileSize(path), begin.size());
  {
    const UniqueFd fd = OpenFile(path, O_RDONLY);
    ReadExactly(fd.get(), 0, std::as_writable_bytes(std::span(begin).first(size)), path);
  }
  const std::string_view magic(begin.data(), size);
  if (magic == "\x93NUMPY") return EdgeFileKind::kNpy;
  for (const std::string_view columns : {"PAR1", "ARROW1", "PK\x03\x04"}) {  // the last one is .npz
    if (magic.starts_with(columns)) return EdgeFileKind::kColumns;
  }
  LineReader lines(path);
  if (lines.Next() && lines.text().starts_with("%%MatrixMarket"))
    return EdgeFileKind::kMatrixMarket;
  return EdgeFileKind::kTable;
}

namespace {

bool HasColumns(const TableFormat& format, const CanonicalEdgeType& type) {
  const auto has = [&](const std::string& name) {
    return std::find(format.columns.begin(), format.columns.end(), name) != format.columns.end();
  };
  return format.header && type.src != type.dst && has(type.src) && has(type.dst);
}

}  // namespace

EdgeTable OpenEdgeTable(const std::string& path, const CanonicalEdgeType& type,
                        const TableHints& hints, const std::string& src_column,
                        const std::string& dst_column) {
  EdgeTable table{.path = path, .format = DetectTable(path, hints)};
  if (!table.format.columns.empty()) ChooseEdgeColumns(table, type, src_column, dst_column);
  return table;
}

void ChooseEdgeColumns(EdgeTable& table, const CanonicalEdgeType& type,
                       const std::string& src_column, const std::string& dst_column) {
  const TableFormat& format = table.format;
  const std::string& path = table.path;
  if (format.columns.size() < 2) {
    Throw(ErrorCode::kCorrupt, path, ":1: one column '", format.columns[0],
          "', expected sources and destinations in two; --separator says what is between them");
  }
  if (src_column.empty() && dst_column.empty() && HasColumns(format, type)) {
    table.src_column = format.Find(path, type.src);
    table.dst_column = format.Find(path, type.dst);
    return;
  }
  const auto first_but = [](size_t other) -> size_t { return other == 0 ? 1 : 0; };
  if (!src_column.empty()) table.src_column = format.Find(path, src_column);
  if (!dst_column.empty()) table.dst_column = format.Find(path, dst_column);
  if (src_column.empty() && !dst_column.empty()) table.src_column = first_but(table.dst_column);
  if (dst_column.empty() && !src_column.empty()) table.dst_column = first_but(table.src_column);
  if (table.src_column == table.dst_column) {
    Throw(ErrorCode::kInvalid, path, ": column '", format.columns[table.src_column],
          "' can't be both source and destination; give --src_col and --dst_col");
  }
}

void ReadEdgeTable(const EdgeTable& table, const FeatureSelection& selection, EdgesBeingRead& edges,
                   const StepProgress& progress) {
  const std::string step = "reading " + table.path;
  if (table.format.columns.empty()) return;
  edges.features.Open(table.path, table.format, {table.src_column, table.dst_column}, selection);
  TableReader reader(table.path, table.format);
  for (uint64_t row = 1; reader.Next(); row++) {
    const auto cells = reader.cells();
    const uint64_t src = edges.src.Resolve(cells[table.src_column], reader);
    const uint64_t dst = edges.dst.Resolve(cells[table.dst_column], reader);
    edges.ends.Add(src, dst);
    edges.features.Append(cells, reader);
    if (row % 65536 == 0 && progress) progress(step, reader.bytes_read(), reader.file_bytes());
  }
  if (progress) progress(step, reader.file_bytes(), reader.file_bytes());
}

}  // namespace graphd
