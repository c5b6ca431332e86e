// SPDX-License-Identifier: Apache-2.0
#include "store/store_recovery.h"

#include <algorithm>
#include <span>
#include <utility>

#include "base/file.h"
#include "base/strings.h"
#include "store/rows/row_order.h"

namespace graphd::store {
namespace {

// A log in memory is truncated when it is larger than this number of segments.
constexpr uint64_t kSegmentsToTrim = 2;
constexpr uint64_t kMemorySegmentBytes = uint64_t{16} << 20;
// The number of segments for which a log in memory keeps memory: those that are to be truncated,
// the one that is being written, and one more.
constexpr size_t kMemorySegments = kSegmentsToTrim + 2;

}  // namespace

StoreRecovery::StoreRecovery(const StoreOptions& options, MemoryBudget& memory,
                             PersistentArena* arena, TableCatalog& catalog,
                             const std::string& removed_memory)
    : options_(options),
      memory_(memory),
      arena_(arena),
      catalog_(catalog),
      removed_memory_(removed_memory),
      kept_(arena != nullptr && arena->taken_over()) {}

uint64_t StoreRecovery::trim_bytes() const noexcept {
  return kSegmentsToTrim * std::min(options_.log_segment_bytes, kMemorySegmentBytes);
}

// Opens the log in the directory of the store or, if `in_memory`, in that of the PersistentArena. A
// log for rows in the arena need not survive anything that the arena does not survive.
std::unique_ptr<PushLog> StoreRecovery::OpenLog(bool in_memory) const {
  PushLog::Options options{options_.log_segment_bytes, options_.durability == Durability::kPower,
                           in_memory};
  if (in_memory) options.segment_bytes = std::min(options.segment_bytes, kMemorySegmentBytes);
  return std::make_unique<PushLog>((in_memory ? arena_->directory() : options_.directory) + "/log",
                                   options);
}

void StoreRecovery::Run() {
  const StoreState written = catalog_.ReadState();
  const uint64_t pages_lsn = RecoverTables(written);
  const StoreState state = kept_ ? arena_->ReadState() : written;
  clients_ = ClientTable(state.clients);
  log_ = OpenLog(kept_);
  // Without these calls, the directory entries of pages/ and log/, and with them all files below,
  // could be missing after a loss of power.
  SyncDirectory(options_.directory);
  SyncDirectory(DirName(options_.directory));
  ReplayLog(state.lsn, pages_lsn);
  // New rows are in new memory, and so is their log. The old log stays until RocksDB has all pushes
  // in it.
  if (arena_ != nullptr && !kept_) {
    old_log_ = std::exchange(log_, OpenLog(/*in_memory=*/true));
    log_->AdvanceTo(old_log_->last_lsn());
    must_write_back_ = true;
  }
  if (arena_ != nullptr) log_->KeepSegments(kMemorySegments);
}

// Loads pages of the table from RocksDB, as far as there is memory.
void StoreRecovery::LoadPages(Table& table, uint64_t& last_lsn) {
  last_lsn = std::max(last_lsn, table.LoadAll([&](uint64_t page, const std::string& why) {
    damage_.push_back(StrCat(NamedTable(table.spec().name), ": page ", page, ": ", why));
  }));
}

// Recovers tables from memory that was kept, or from RocksDB. Returns the largest sequence number
// found in a page that was read from RocksDB.
uint64_t StoreRecovery::RecoverTables(const StoreState& written) {
  uint64_t pages_lsn = 0;
  std::map<uint32_t, std::string> lost;
  for (const auto& [id, spec] : catalog_.StoredSpecs()) {
    try {
      const std::shared_ptr<Table> table = catalog_.Add(id, spec, kept_);
      if (!kept_) LoadPages(*table, pages_lsn);
    } catch (const Error& error) {
      // Only files that are missing or damaged for good are created again.
      if (!kept_ || (error.code() != ErrorCode::kNotFound && error.code() != ErrorCode::kCorrupt)) {
        throw;
      }
      damage_.push_back(StrCat(NamedTable(spec.name), ": its memory was kept, but ", error.what(),
                               "; its rows are as of the last write-back"));
      lost[id] = damage_.back();
      LoadPages(*catalog_.Add(id, spec, /*kept=*/false), pages_lsn);
    }
  }
  catalog_.LoadTroubles();
  if (!removed_memory_.empty()) {
    ReportLost(StrCat("the memory of the last server, ", removed_memory_,
                      ", was removed; rows are as of the last write-back"),
               lost);
  }
  if (kept_) TakeOverArena(written, lost);
  catalog_.RemoveOthers();
  catalog_.SetTroubles(lost);
  return pages_lsn;
}

// Adds damage that concerns all tables to damage_, and to `lost` for each table that `lost` does
// not have yet.
void StoreRecovery::ReportLost(const std::string& what, std::map<uint32_t, std::string>& lost) {
  damage_.push_back(what);
  for (const auto& table : catalog_.All()) lost.emplace(table->id(), what);
}

// If an undo log is damaged, stores a trouble for each table that was being changed when the
// earlier process ended, unless `lost` has the table. The trouble must be on the disk before the
// pages' locks are released, because only these locks show which pages were being changed.
void StoreRecovery::ReportUndoDamage(const std::map<uint32_t, std::string>& lost) {
  const std::string damage = arena_->UndoDamage();
  if (damage.empty()) return;
  std::map<uint32_t, std::string> torn;
  for (const std::shared_ptr<Table>& table : catalog_.All()) {
    if (lost.contains(table->id())) continue;
    const std::vector<uint64_t> pages = table->PagesWithoutUndo(arena_->undo_logs());
    if (pages.empty()) continue;
    const auto first = static_cast<int64_t>(pages[0]) * kPageRows;
    torn[table->id()] = StrCat(
        damage, ", so that a change which the last server had begun can't be rolled back: ", "of ",
        NamedTable(table->spec().name), ", rows ", first, " to ",
        std::min(first + kPageRows, table->spec().rows) - 1,
        pages.size() > 1 ? StrCat(" and ", pages.size() - 1, " more pages") : "",
        " may have a part of a push, or have it twice");
  }
  if (torn.empty()) {
    damage_.push_back(damage + ", while no row was being changed; nothing is lost");
  }
  for (const auto& [table, what] : torn) damage_.push_back(what);
  catalog_.SetTroubles(torn);
}

// Takes over the pages of the earlier process, and rolls back its unfinished changes.
void StoreRecovery::TakeOverArena(const StoreState& written,
                                  std::map<uint32_t, std::string>& lost) {
  ReportUndoDamage(lost);
  for (const std::shared_ptr<Table>& table : catalog_.All()) {
    if (lost.contains(table->id())) continue;
    try {
      kept_lsn_ = std::max(kept_lsn_, table->TakeOver(written.lsn, arena_->undo_logs()));
    } catch (const Error& error) {
      if (error.code() != ErrorCode::kCorrupt) throw;
      const TableSpec spec = catalog_.SpecOf(*table);
      damage_.push_back(StrCat(NamedTable(spec.name), ": its memory was kept, but ", error.what(),
                               "; its rows are as of the last write-back"));
      lost[table->id()] = damage_.back();
      catalog_.SetTroubles({{table->id(), damage_.back()}});  // before Add makes the files again
      uint64_t ignored = 0;
      LoadPages(*catalog_.Add(table->id(), spec, /*kept=*/false), ignored);
    }
  }
  for (const auto& undo : arena_->undo_logs()) {
    if (undo->found_damage().empty()) undo->End();
  }
  arena_->ReplaceDamagedUndoLogs();
}

// Replays the log over tables that have all pushes up to `state_lsn`. `pages_lsn`: see
// RecoverTables.
void StoreRecovery::ReplayLog(uint64_t state_lsn, uint64_t pages_lsn) {
  std::map<uint32_t, std::string> lost;  // by table
  uint64_t last_lsn = state_lsn;
  bool gap = false;  // pushes between the pages and the log are missing
  Table::Scratch scratch;
  if (arena_ != nullptr) scratch.undo_log = &arena_->undo_log(0);
  const PushLog::Tail tail = log_->Recover([&](const Push& push) {
    gap = gap || push.lsn > last_lsn + 1;
    if (gap) return;
    last_lsn = std::max(last_lsn, push.lsn);
    if (push.lsn > state_lsn) clients_.Remember(push.client, {push.sequence, push.lsn});
    const std::shared_ptr<Table> table = catalog_.FindById(push.table);
    if (table == nullptr) return;  // it was dropped
    try {
      table->CheckPush(push);
      table->Touch(push.rows);
      Replay(*table, push, scratch);
    } catch (const Error& error) {
      // A shortage of memory is no loss: the next start replays all of the log.
      if (error.code() == ErrorCode::kOverloaded) throw;
      damage_.push_back(StrCat("push ", push.lsn, " was not replayed: ", error.what()));
      lost[push.table] = damage_.back();
      return;
    }
    replayed_++;
  });
  const uint64_t log_lsn = log_->last_lsn();
  // The log should have every push after `state_lsn`. If rows that were kept in memory have a later
  // push than both, the end of the log is lost.
  const bool is_short = kept_lsn_ > std::max(last_lsn, log_lsn);
  log_damaged_ = tail.lost_after != 0 || gap || is_short;
  if (gap) {
    ReportLost(StrCat(log_->directory(), ": the log has no record of push ", last_lsn + 1,
                      "; pushes up to ", std::max(log_lsn, tail.lost_after), " are lost"),
               lost);
  } else if (tail.lost_after != 0) {
    ReportLost(StrCat(tail.path, ": damaged at byte ", tail.offset, "; pushes ", last_lsn + 1,
                      " to ", tail.lost_after, " are lost"),
               lost);
  } else if (is_short) {
    ReportLost(StrCat(log_->directory(), ": the log ends at push ", std::max(last_lsn, log_lsn),
                      ", and rows in memory have push ", kept_lsn_, ": pushes may be lost"),
               lost);
  }
  if (log_damaged_) log_->KeepAll();
  const uint64_t next = std::max({last_lsn, tail.lost_after, pages_lsn, kept_lsn_});
  // Pages may have later pushes than the log if a part of the log was lost. New pushes get sequence
  // numbers that no page has. If this leaves a gap after the old segments, they must be removed,
  // because the gap would look like damage.
  const bool ahead = pages_lsn > std::max(last_lsn, log_lsn) || (next > log_lsn && !log_->empty());
  log_->AdvanceTo(next);
  // The log is truncated later, and then only the stored troubles show what was lost.
  catalog_.SetTroubles(lost);
  must_write_back_ = log_damaged_ || options_.durability == Durability::kNone || ahead;
}

// Applies a push while nothing else uses the table. With a memory budget, one page is loaded at a
// time, because the pages of the push may not all fit into memory at once.
void StoreRecovery::Replay(Table& table, const Push& push, Table::Scratch& scratch) {
  RowOrder order(push.rows.size());
  order.Sort(push.rows, table.spec().rows);
  for (size_t lane = 0; lane < RowOrder::kLanes; lane++) {
    std::span<const uint32_t> positions = order.lane(lane);
    while (!positions.empty()) {
      size_t count = positions.size();
      if (memory_.bounded()) {
        const auto page_of = [&](uint32_t position) { return push.rows[position] / kPageRows; };
        for (count = 1;
             count < positions.size() && page_of(positions[count]) == page_of(positions[0]);) {
          count++;
        }
        table.Touch({&push.rows[positions[0]], 1});
      }
      table.Apply(push, positions.first(count), scratch);
      positions = positions.subspan(count);
    }
  }
}

void StoreRecovery::RetireReplayedLog(PushLog& log) {
  PushLog& replayed = old_log_ != nullptr ? *old_log_ : log;
  if (log_damaged_) {
    replayed.SetAside();
  } else {
    replayed.Clear();
  }
}

}  // namespace graphd::store
