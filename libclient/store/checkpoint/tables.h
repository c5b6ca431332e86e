// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <cstdint>
#include <string>
#include <vector>

#include "store/rows/table.h"

// What a machine's part of a checkpoint consists of; a directory:
//
//   pages/       RocksDB, whose files are hard links to those of the store that was copied
//   tables.json  which tables of those in it belong to the checkpoint
//   ids-N        int64 per row of table N: its id, where the ids do not follow one another

namespace graphd::store {

struct CheckpointTable {
  uint32_t id = 0;  // in pages/
  TableSpec spec;
  Table::RowIds ids;  // if spec.first_id is -1
};

std::string CheckpointPagesPath(const std::string& directory);
// Writes all but the pages, to the disk.
void WriteCheckpointTables(const std::string& directory,
                           const std::vector<CheckpointTable>& tables);
// Throws Error(kCorrupt), Error(kNotFound), Error(kIo).
std::vector<CheckpointTable> ReadCheckpointTables(const std::string& directory);

}  // namespace graphd::store
