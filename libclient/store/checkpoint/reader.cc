// SPDX-License-Identifier: Apache-2.0
#include "store/checkpoint/reader.h"

#include <algorithm>
#include <cstring>

#include "base/index.h"
#include "base/strings.h"
#include "store/rows/initializer.h"

namespace graphd::store {

CheckpointReader::CheckpointReader(const std::string& directory)
    : directory_(directory), db_(CheckpointPagesPath(directory), PageDb::Mode::kReadOnly) {
  for (CheckpointTable& table : ReadCheckpointTables(directory)) {
    std::string name = table.spec.name;
    tables_.emplace(std::move(name), std::move(table));
  }
}

std::vector<TableSpec> CheckpointReader::tables() const {
  std::vector<TableSpec> all;
  for (const auto& [name, table] : tables_) all.push_back(table.spec);
  return all;
}

const CheckpointTable& CheckpointReader::Find(const std::string& name) const {
  if (const auto found = tables_.find(name); found != tables_.end()) return found->second;
  std::vector<std::string> names;
  for (const auto& [other, table] : tables_) names.push_back("'" + other + "'");
  Throw(ErrorCode::kNotFound, directory_, " has no ", NamedTable(name), "; it has ",
        names.empty() ? "none" : Join(names, ", "));
}

const TableSpec& CheckpointReader::FindTable(const std::string& name) const {
  return Find(name).spec;
}

void CheckpointReader::ReadRows(const std::string& name, int64_t begin, int64_t count,
                                std::span<std::byte> values, std::span<float> states) const {
  const CheckpointTable& table = Find(name);
  const TableSpec& spec = table.spec;
  const size_t row_bytes = spec.row_bytes();
  const size_t state_floats = StateFloats(spec.state, spec.row_elements());
  if (begin < 0 || count < 0 || begin > spec.rows || count > spec.rows - begin) {
    Throw(ErrorCode::kInvalid, NamedTable(name), " has ", spec.rows, " rows here, not those from ",
          begin, " to ", begin + count);
  }
  if (values.size() != Index(count) * row_bytes ||
      (!states.empty() && states.size() != Index(count) * state_floats)) {
    Throw(ErrorCode::kInvalid, NamedTable(name), ": ", count, " rows do not fit ", values.size(),
          " bytes and ", states.size(), " floats of state");
  }
  std::vector<std::byte> page_bytes;
  for (int64_t row = begin; row < begin + count;) {
    const int64_t page = row / kPageRows;
    const int64_t first = page * kPageRows;
    const int64_t rows = std::min(kPageRows, spec.rows - first);
    const int64_t end = std::min(first + rows, begin + count);
    std::byte* const to = values.data() + Index(row - begin) * row_bytes;
    page_bytes.resize(Index(rows) * (row_bytes + state_floats * sizeof(float)));
    bool stored = false;
    try {
      stored =
          db_.GetPage(table.id, static_cast<uint64_t>(page), page_bytes,
                      Index(rows) *
                          row_bytes)  // size of a page that was written before the table had state
              .has_value();
    } catch (const Error& error) {
      Throw(error.code(), NamedTable(name), ": ", error.what(), "; take another checkpoint");
    }
    if (stored) {
      std::memcpy(to, page_bytes.data() + Index(row - first) * row_bytes,
                  Index(end - row) * row_bytes);
      if (!states.empty()) {
        std::memcpy(states.data() + Index(row - begin) * state_floats,
                    page_bytes.data() + Index(rows) * row_bytes +
                        Index(row - first) * state_floats * sizeof(float),
                    Index(end - row) * state_floats * sizeof(float));
      }
    } else {
      for (int64_t i = row; i < end; i++) {
        const int64_t id = table.ids == nullptr ? spec.first_id + i : (*table.ids)[Index(i)];
        FillRow(spec.initializer, spec.dtype, id, {to + Index(i - row) * row_bytes, row_bytes});
      }
      if (!states.empty()) {
        std::fill_n(states.data() + Index(row - begin) * state_floats,
                    Index(end - row) * state_floats, 0.0F);
      }
    }
    row = end;
  }
}

}  // namespace graphd::store
