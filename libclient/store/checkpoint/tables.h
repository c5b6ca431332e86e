// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <cstdint>
#include <string>
#include <vector>

#include "store/rows/table.h"

// The tables of a machine's part of a checkpoint, in a directory:
//
//   pages/       RocksDB, whose files are hard links to those of the store
//   tables.json  the tables in it that belong to the checkpoint
//   ids-N        the id of each row of table N as int64, if ids are not consecutive

namespace graphd::store {

struct CheckpointTable {
  uint32_t id = 0;  // id of the table in pages/
  TableSpec spec;
  Table::RowIds ids;  // if spec.first_id is -1
};

std::string CheckpointPagesPath(const std::string& directory);
// Writes all files of the directory except pages/, and syncs them to the disk. Throws Error(kIo).
void WriteCheckpointTables(const std::string& directory,
                           const std::vector<CheckpointTable>& tables);
// Reads what WriteCheckpointTables wrote. Throws Error(kCorrupt), Error(kNotFound) or Error(kIo).
std::vector<CheckpointTable> ReadCheckpointTables(const std::string& directory);
// Reads only the descriptions, and not the ids, of which a table may have eight bytes per row.
std::vector<TableSpec> ReadCheckpointSpecs(const std::string& directory);

}  // namespace graphd::store
