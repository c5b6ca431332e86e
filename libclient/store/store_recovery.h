// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <cstdint>
#include <map>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "store/log/client_table.h"
#include "store/log/push_log.h"
#include "store/persistent_arena.h"
#include "store/rows/memory_budget.h"
#include "store/store_options.h"
#include "store/table_catalog.h"

namespace graphd::store {

// The recovery of a store when it is opened. It loads the tables from RocksDB, or takes over the
// memory of an earlier process, and replays the push log. Only one thread uses it.
class StoreRecovery {
 public:
  // All arguments outlive the recovery. `arena` is null if memory is freed when the process ends.
  // `removed_memory` is the path of the last server's memory if somebody has removed that memory,
  // and otherwise empty.
  StoreRecovery(const StoreOptions& options, MemoryBudget& memory, PersistentArena* arena,
                TableCatalog& catalog, const std::string& removed_memory);

  // Recovers the tables. Throws Error: kCorrupt if the descriptions of tables can't be read, kIo,
  // kOverloaded.
  void Run();

  // The following functions return the results of Run. TakeLog returns the log for new pushes.
  std::unique_ptr<PushLog> TakeLog() { return std::move(log_); }
  ClientTable TakeClients() { return std::move(clients_); }
  uint64_t replayed() const noexcept { return replayed_; }
  // Returns one message for each unreadable page and for each loss of pushes.
  const std::vector<std::string>& damage() const noexcept { return damage_; }

  // Returns whether all pages must be written back before the first push. If so, the caller writes
  // them back and then calls RetireReplayedLog. Without that call, a later recovery would replay
  // the same log over later pushes.
  bool must_write_back() const noexcept { return must_write_back_; }
  // Removes the segments of the log that was replayed, or renames them if that log is damaged.
  // `log` is the log that TakeLog returned. Throws Error(kIo).
  void RetireReplayedLog(PushLog& log);

  // Returns the size beyond which a log in memory is truncated.
  uint64_t trim_bytes() const noexcept;

 private:
  std::unique_ptr<PushLog> OpenLog(bool in_memory) const;
  uint64_t RecoverTables(const StoreState& written);
  void LoadPages(Table& table, uint64_t& last_lsn);
  void ReportUndoDamage(const std::map<uint32_t, std::string>& lost);
  void TakeOverArena(const StoreState& written, std::map<uint32_t, std::string>& lost);
  void ReplayLog(uint64_t state_lsn, uint64_t pages_lsn);
  void ReportLost(const std::string& what, std::map<uint32_t, std::string>& lost);
  void Replay(Table& table, const Push& push, Table::Scratch& scratch);

  const StoreOptions& options_;
  MemoryBudget& memory_;
  PersistentArena* const arena_;
  TableCatalog& catalog_;
  const std::string& removed_memory_;
  const bool kept_;        // rows are in memory that an earlier process left
  uint64_t kept_lsn_ = 0;  // largest sequence number of a page there

  std::unique_ptr<PushLog> log_;
  std::unique_ptr<PushLog> old_log_;  // the log that was replayed, if it is not log_
  ClientTable clients_;
  uint64_t replayed_ = 0;
  std::vector<std::string> damage_;
  bool log_damaged_ = false;
  bool must_write_back_ = false;
};

}  // namespace graphd::store
