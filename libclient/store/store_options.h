// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <cstddef>
#include <cstdint>
#include <functional>
#include <string>

#include "store/rows/table.h"

namespace graphd::store {

enum class Durability : uint8_t {
  // There is no log. If the process crashes or is killed, pushes since the last write-back are
  // lost, and of two pages that were written back, one may have later pushes than the other.
  kNone,
  // Acknowledged pushes survive the end of the process, kill -9 included. After a crash of the
  // machine, rows have the values that one of the last write-backs has stored.
  kProcess,
  // Acknowledged pushes survive a loss of power, too.
  kPower,
};
const char* DurabilityName(Durability durability) noexcept;
// Throws Error(kInvalid).
Durability DurabilityFromName(const std::string& name);

// The settings of a Store.
struct StoreOptions {
  std::string directory;
  Durability durability = Durability::kProcess;
  size_t threads = 2;                                // threads that apply pushes
  uint64_t max_pending_bytes = uint64_t{256} << 20;  // pushes submitted and not yet done
  uint64_t log_segment_bytes = uint64_t{64} << 20;
  uint64_t max_log_bytes = uint64_t{4} << 30;
  // Interval between write-back cycles; a cycle starts earlier if the log is half full. 0 means 30
  // seconds, or five minutes with a PersistentArena, because rows on the disk are then needed only
  // after a crash of the machine.
  double write_back_seconds = 0;
  uint64_t write_back_rate = uint64_t{100} << 20;  // bytes per second; more if the log is half full
  // Memory budget for rows and optimiser states of all tables; an eighth of it buffers pages that
  // are being written to the disk. 0 means no limit. Pages that do not fit are only in RocksDB. All
  // pages of a push must fit at the same time; a single page is always admitted. Budgets below 64
  // MiB are exceeded somewhat.
  uint64_t memory_bytes = 0;
  // The directory, in a tmpfs, of memory that survives the process (PersistentArena). If it is
  // empty, memory is freed when the process ends.
  std::string memory_dir;
  // Returns whether another process follows this process at once, so that memory in `memory_dir` is
  // left to it. Called when the store is destroyed.
  std::function<bool()> next_process_follows = [] { return false; };
  static constexpr size_t kMostTables = 4096;
  size_t max_tables = kMostTables;
  // Returns the ids of the rows of a table whose first_id is -1. Called when the table is created
  // or recovered.
  std::function<Table::RowIds(const TableSpec&)> row_ids = {};

  // Returns whether rows are kept in memory that survives the process.
  bool wants_persistent_arena() const noexcept {
    return durability == Durability::kProcess && memory_bytes == 0 && !memory_dir.empty();
  }
};

}  // namespace graphd::store
