// SPDX-License-Identifier: Apache-2.0
#include "format/input/node_table.h"

#include <cstring>

#include "format/io/table_reader.h"

namespace graphd {
namespace {

// Returns the inverse of `ids`: rows[id] is the row of node `id` in the table.
std::vector<uint64_t> RowsById(const std::string& path, const std::string& ntype,
                               std::span<const uint64_t> ids) {
  constexpr uint64_t kNone = UINT64_MAX;
  std::vector<uint64_t> rows(ids.size(), kNone);
  for (uint64_t row = 0; row < ids.size(); row++) {
    if (ids[row] >= ids.size()) {
      Throw(ErrorCode::kCorrupt, path, ": row ", row, " (from 0) is node ", ids[row], " of type '",
            ntype, "', but the table has ", ids.size(), " rows, expected nodes 0..", ids.size() - 1,
            "; --map_ids renumbers them");
    }
    if (rows[ids[row]] != kNone) {
      Throw(ErrorCode::kCorrupt, path, ": node ", ids[row], " of type '", ntype, "' is in rows ",
            rows[ids[row]], " and ", row, " (from 0)");
    }
    rows[ids[row]] = row;
  }
  return rows;
}

Tensor Reorder(const Tensor& values, const std::vector<uint64_t>& rows, SpillFiles* spill) {
  TensorBuilder ordered(values.dtype(), spill);
  const size_t bytes = values.row_bytes();
  for (const uint64_t row : rows) ordered.Append(std::span(values.data() + row * bytes, bytes));
  return std::move(ordered).Finish(values.shape());
}

}  // namespace

void NodeRows::Finish(FeatureColumns columns, const std::string& path, RawNodes& nodes) && {
  ids_.Close(count(), path);
  const size_t before = nodes.features.size();
  std::move(columns).Finish(count(), nodes.features);
  if (in_order_) return;
  const std::vector<uint64_t> by_id = RowsById(path, ids_.ntype(), order_.as<uint64_t>());
  for (size_t i = before; i < nodes.features.size(); i++) {
    nodes.features[i].values = Reorder(nodes.features[i].values, by_id, spill_);
  }
}

void ReadNodeTable(const std::string& path, const TableFormat& format, NodeIds& ids,
                   const FeatureSelection& selection, RawNodes& nodes, const StepProgress& progress,
                   SpillFiles* spill) {
  TableReader table(path, format);
  FeatureColumns columns("feat", spill);
  columns.Open(path, format, {0}, selection);
  NodeRows rows(ids, spill);
  while (table.Next()) {
    if (rows.count() % 65536 == 65535 && progress) {
      progress("reading " + path, table.bytes_read(), table.file_bytes());
    }
    if (!rows.Add(ids.Resolve(table.cells()[0], table))) {
      table.Fail("node '", table.cells()[0], "' is in an earlier row, too");
    }
    columns.Append(table.cells(), table);
  }
  std::move(rows).Finish(std::move(columns), path, nodes);
  if (progress) progress("reading " + path, table.file_bytes(), table.file_bytes());
}

}  // namespace graphd
