// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <cstdint>
#include <map>
#include <span>
#include <string>
#include <vector>

#include "store/checkpoint/tables.h"
#include "store/rows/page_db.h"

// Reads a directory that Store::WriteCheckpoint made, and changes nothing in it. Thread-safe.

namespace graphd::store {

class CheckpointReader {
 public:
  // Throws Error(kNotFound), Error(kCorrupt) naming the file, Error(kIo).
  explicit CheckpointReader(const std::string& directory);

  std::vector<TableSpec> tables() const;
  // Throws Error(kNotFound) naming those there are.
  const TableSpec& FindTable(const std::string& name) const;

  // Rows [begin, begin + count) of the table, 0 being its first here, as they were: those never
  // written have the initialiser's values and no state. `values` gets count * row bytes; `states`
  // count * StateFloats(spec.state, spec.row_elements()) floats, or is empty and they are not read.
  // Throws Error(kCorrupt) naming table and page, Error(kInvalid) if there are fewer rows.
  void ReadRows(const std::string& table, int64_t begin, int64_t count, std::span<std::byte> values,
                std::span<float> states) const;

 private:
  const CheckpointTable& Find(const std::string& name) const;

  std::string directory_;
  PageDb db_;
  std::map<std::string, CheckpointTable> tables_;
};

}  // namespace graphd::store
