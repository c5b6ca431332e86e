// SPDX-License-Identifier: Apache-2.0
#include "format/input/column_tables.h"

#include <algorithm>

#include "base/clock.h"
#include "base/strings.h"
#include "format/input/batch_ids.h"
#include "format/input/node_table.h"

namespace graphd {
namespace {

void NameColumns(const std::string& path, const std::vector<ArrowField>& fields,
                 TableFormat& format) {
  for (size_t c = 0; c < fields.size(); c++) {
    const std::string& name = fields[c].name;
    if (name.empty()) {
      Throw(ErrorCode::kCorrupt, path, ": column ", c, " has no name; name it");
    }
    if (std::find(format.columns.begin(), format.columns.end(), name) != format.columns.end()) {
      Throw(ErrorCode::kCorrupt, path, ": two columns are called '", name, "'; rename one");
    }
    format.columns.push_back(name);
  }
}

// Returns the length of the first list that is not null, or 0.
int64_t ListSize(const ArrowColumn& column) {
  if (column.type->kind != ArrowKind::kList) return 0;
  for (int64_t row = 0; row < column.length; row++) {
    if (column.IsNull(row)) continue;
    const auto [begin, end] = column.Items(row);
    return end - begin;
  }
  return 0;
}

// A table of which some columns are read.
class ColumnTable {
 public:
  // `wanted` has the columns of `format` to read. A column that is there twice is read once.
  ColumnTable(ColumnFiles& files, const std::string& path, const TableFormat& format,
              std::vector<size_t> wanted, const StepProgress& progress)
      : path_(path), width_(format.columns.size()), progress_(progress) {
    std::sort(wanted.begin(), wanted.end());
    wanted.erase(std::unique(wanted.begin(), wanted.end()), wanted.end());
    std::vector<std::string> names;
    for (size_t c : wanted) names.push_back(format.columns[c]);
    stream_ = files.Read(path, names);
    std::vector<std::string> got;
    for (const ArrowField& field : stream_->fields()) got.push_back(field.name);
    if (got != names) {
      Throw(ErrorCode::kCorrupt, path, " has changed while it was read: the columns are ",
            Join(got, ", "), ", expected ", Join(names, ", "));
    }
    wanted_ = std::move(wanted);
  }

  // Reads the next batch, with its columns at their places in the format. Returns false at the end.
  bool Next() {
    first_row_ += batch_.rows;
    ArrowBatch read;
    const std::string step = "reading " + path_;
    if (!stream_->Next(read)) {
      if (progress_) progress_(step, 1, 1);
      return false;
    }
    if (progress_) progress_(step, static_cast<uint64_t>(SecondsSince(start_)), 0);
    batch_ = {read.rows, std::vector<ArrowColumn>(width_), read.owner};
    for (size_t i = 0; i < wanted_.size(); i++) {
      batch_.columns[wanted_[i]] = std::move(read.columns[i]);
    }
    return true;
  }
  const ArrowBatch& batch() const { return batch_; }
  // Returns the row of the table at which the batch begins.
  int64_t first_row() const { return first_row_; }

 private:
  const std::string& path_;
  const size_t width_;
  const StepProgress& progress_;
  const Clock::time_point start_ = Clock::now();
  std::unique_ptr<ArrowStream> stream_;
  std::vector<size_t> wanted_;
  ArrowBatch batch_;
  int64_t first_row_ = 0;
};

}  // namespace

TableFormat DescribeColumns(ColumnFiles& files, const std::string& path) {
  // The sample has a row less than for a text table, because a text table's sample also contains
  // its header.
  constexpr int64_t kRows = kSampleRows - 1;
  const std::unique_ptr<ArrowStream> sample = files.Sample(path, kRows);
  TableFormat format;
  format.header = true;
  NameColumns(path, sample->fields(), format);
  format.ids.resize(format.columns.size());
  format.list_sizes.resize(format.columns.size());
  for (size_t c = 0; c < format.columns.size(); c++) {
    const ArrowType& type = sample->fields()[c].type;
    if (type.kind == ArrowKind::kList && type.layout == ArrowLayout::kFixed) {
      format.list_sizes[c] = type.list_size;
    }
  }
  ArrowBatch batch;
  for (int64_t first_row = 0; sample->Next(batch); first_row += batch.rows) {
    for (size_t c = 0; c < format.columns.size(); c++) {
      const ArrowColumn& column = batch.columns[c];
      if (format.list_sizes[c] == 0) format.list_sizes[c] = ListSize(column);
      const ArrowKind kind =
          (column.type->dictionary ? *column.type->dictionary : *column.type).kind;
      if (kind != ArrowKind::kText && kind != ArrowKind::kNumber) continue;
      for (int64_t row = 0; row < std::min(batch.rows, kRows - first_row); row++) {
        format.ids[c].Add(first_row + row + 1, BatchIds::TextOf(column, row));
      }
    }
  }
  return format;
}

void ReadEdgeColumns(ColumnFiles& files, const EdgeTable& table, const FeatureSelection& selection,
                     EdgesBeingRead& edges, const StepProgress& progress) {
  const TableFormat& format = table.format;
  edges.features.Open(table.path, format, {table.src_column, table.dst_column}, selection);
  std::vector<size_t> wanted = edges.features.columns();
  wanted.insert(wanted.end(), {table.src_column, table.dst_column});
  ColumnTable columns(files, table.path, format, std::move(wanted), progress);
  while (columns.Next()) {
    const ArrowBatch& batch = columns.batch();
    const auto ids = [&](size_t column, NodeIds& of) {
      return BatchIds(batch.columns[column], format.columns[column], table.path,
                      columns.first_row(), of);
    };
    BatchIds src = ids(table.src_column, edges.src), dst = ids(table.dst_column, edges.dst);
    for (int64_t row = 0; row < batch.rows; row++) {
      const uint64_t from = src.At(row);
      edges.ends.Add(from, dst.At(row));
    }
    edges.features.Append(batch, table.path, columns.first_row());
  }
}

void ReadNodeColumns(ColumnFiles& files, const std::string& path, const TableFormat& format,
                     NodeIds& ids, const FeatureSelection& selection, RawNodes& nodes,
                     const StepProgress& progress, SpillFiles* spill) {
  FeatureColumns features("feat", spill);
  features.Open(path, format, {0}, selection);
  std::vector<size_t> wanted = features.columns();
  wanted.push_back(0);
  ColumnTable columns(files, path, format, std::move(wanted), progress);
  NodeRows rows(ids, spill);
  while (columns.Next()) {
    const ArrowBatch& batch = columns.batch();
    BatchIds of_rows(batch.columns[0], format.columns[0], path, columns.first_row(), ids);
    for (int64_t row = 0; row < batch.rows; row++) {
      if (rows.Add(of_rows.At(row))) continue;
      Throw(ErrorCode::kCorrupt, path, ": row ", rows.count(), " (from 0): node '",
            BatchIds::TextOf(batch.columns[0], row), "' is in an earlier row, too");
    }
    features.Append(batch, path, columns.first_row());
  }
  std::move(rows).Finish(std::move(features), path, nodes);
}

}  // namespace graphd
