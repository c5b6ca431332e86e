// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <cstdint>
#include <map>
#include <span>
#include <string>
#include <vector>

#include "store/checkpoint/tables.h"
#include "store/rows/page_db.h"

// A reader of a directory that Store::WriteCheckpoint wrote, which it does not change. Thread-safe.

namespace graphd::store {

class CheckpointReader {
 public:
  // Opens the directory. Throws Error: kNotFound, kCorrupt naming the file, kIo.
  explicit CheckpointReader(const std::string& directory);

  std::vector<TableSpec> tables() const;
  // Throws Error(kNotFound), naming the existing tables.
  const TableSpec& FindTable(const std::string& name) const;

  // Reads rows [begin, begin + count) of the table, numbered from 0 in this partition. Rows that
  // were never written have the initialiser's values and state of zeros. `values` has count *
  // row_bytes. `states` has count * StateFloats(spec.state, spec.row_elements()) floats; if it is
  // empty, states are not read. Throws Error: kNotFound; kInvalid if there are fewer rows;
  // kCorrupt, naming the table and the page.
  void ReadRows(const std::string& table, int64_t begin, int64_t count, std::span<std::byte> values,
                std::span<float> states) const;

 private:
  const CheckpointTable& Find(const std::string& name) const;

  std::string directory_;
  PageDb db_;
  std::map<std::string, CheckpointTable> tables_;
};

}  // namespace graphd::store
