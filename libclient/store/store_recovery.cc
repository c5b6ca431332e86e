// SPDX-License-Identifier: Apache-2.0
// Store: how one is opened.
#include <sys/statfs.h>

#include <algorithm>

#include "base/file.h"
#include "base/log.h"
#include "base/strings.h"
#include "store/rows/memory_dir.h"
#include "store/rows/store_keys.h"
#include "store/store.h"

namespace graphd::store {
namespace {

// The log is cut at this many segments where memory lasts.
constexpr uint64_t kSegmentsToTrim = 2;
// Of a log in memory: those that are cut, what is written to, and one more.
constexpr uint64_t kMemorySegmentBytes = uint64_t{16} << 20;
constexpr size_t kMemorySegments = kSegmentsToTrim + 2;

bool WantsPersistentArena(const StoreOptions& options) {
  return options.durability == Durability::kProcess && options.memory_bytes == 0 &&
         !options.memory_dir.empty();
}

// The part of bounded memory that is for pages on their way to the disk.
uint64_t BufferBytes(const StoreOptions& options) { return options.memory_bytes / 8; }

// What an earlier process left in memory goes to the disk if it is not to be gone on with there.
StoreOptions WithoutMemory(StoreOptions options) {
  if (WantsPersistentArena(options) || !FileExists(options.directory + "/memory")) return options;
  StoreOptions before = options;
  before.durability = Durability::kProcess;
  before.memory_bytes = 0;
  if (before.memory_dir.empty()) before.memory_dir = kUsualMemoryDir;
  const Store store(std::move(before));
  return options;
}

}  // namespace

Store::Store(StoreOptions options)
    : options_(WithoutMemory(std::move(options))),
      db_(options_.directory + "/pages", PageDb::Mode::kReadWrite, BufferBytes(options_)),
      memory_(options_.memory_bytes - BufferBytes(options_)) {
  memory_.SetCleaner([this] { AskToClean(); });
  Recover();
  write_back_ = std::thread([this] { RunWriteBack(); });
  if (!memory_.bounded()) collapser_.emplace([this] { return tables(); });
}

std::shared_ptr<Table> Store::MakeTable(uint32_t id, TableSpec spec, bool kept) {
  Table::RowIds ids;
  if (spec.first_id == -1 && options_.row_ids) ids = options_.row_ids(spec);
  Arena::Files files;
  if (persistent_ != nullptr) {
    persistent_->ReserveUndo(spec.page_bytes());
    files = persistent_->FilesOf(id, kept);
  }
  return std::make_shared<Table>(id, std::move(spec), db_, memory_, std::move(ids),
                                 persistent_ != nullptr ? &files : nullptr);
}

void Store::AddTable(const std::shared_ptr<Table>& table) {
  by_name_[table->spec().name] = table;
  by_id_[table->id()] = table;
}

// Finds or makes the memory that lasts. Returns whether rows of an earlier process are in it.
bool Store::OpenMemory() {
  if (!WantsPersistentArena(options_)) return false;
  std::string gone;
  persistent_ = PersistentArena::Find(options_.directory, options_.threads, &gone);
  if (persistent_ != nullptr) return true;
  if (!gone.empty()) {
    LogWarning(options_.directory, ": the memory of its last server, ", gone,
               ", is gone; was the machine restarted? Tables are as they were written back last");
  }
  persistent_ = PersistentArena::Make(options_.memory_dir, options_.directory, options_.threads);
  return false;
}

// Where memory lasts the log has no more to outlast than that has, and lies there, too.
std::unique_ptr<PushLog> Store::OpenLog(bool in_memory) const {
  PushLog::Options options{options_.log_segment_bytes, options_.durability == Durability::kPower,
                           in_memory};
  if (in_memory) options.segment_bytes = std::min(options.segment_bytes, kMemorySegmentBytes);
  return std::make_unique<PushLog>(
      (in_memory ? persistent_->directory() : options_.directory) + "/log", options);
}

// Tables, from memory that was kept or from RocksDB. Returns the largest number of a push that a
// page has seen, as far as it was looked at.
uint64_t Store::RecoverTables(const StoreState& written, bool kept) {
  uint64_t seen = 0;
  const auto load = [&](Table& table) {
    seen = std::max(seen, table.LoadAll([&](uint64_t page, const std::string& why) {
      damage_.push_back(StrCat(NamedTable(table.spec().name), ": page ", page, ": ", why));
    }));
  };
  std::map<uint32_t, std::string> lost;
  for (const std::string& name : db_.TextNames(kTablePrefix)) {
    const auto id = static_cast<uint32_t>(ParseInt(name.substr(std::string(kTablePrefix).size()),
                                                   "number of a table", 1, UINT32_MAX));
    const TableSpec spec = DecodeSpec(*db_.GetText(name));
    try {
      AddTable(MakeTable(id, spec, kept));
      if (!kept) load(*by_id_.at(id));
    } catch (const Error& error) {
      // Only what will never be there; the files are made anew then.
      if (!kept || (error.code() != ErrorCode::kNotFound && error.code() != ErrorCode::kCorrupt)) {
        throw;
      }
      damage_.push_back(StrCat(NamedTable(spec.name), ": its memory was kept, but ", error.what(),
                               "; its rows are as they were written back last"));
      lost[id] = damage_.back();
      AddTable(MakeTable(id, spec, /*kept=*/false));
      load(*by_id_.at(id));
    }
  }
  LoadTrouble();
  for (const auto& [id, why] : lost) PutTrouble(id, why);
  if (!lost.empty()) db_.Flush();
  if (!kept) return seen;
  for (const auto& undo : persistent_->undos()) {
    const auto found = by_id_.find(undo->table());
    if (undo->any() && found != by_id_.end()) found->second->RollBack(*undo);
    undo->End();
  }
  for (const auto& [id, table] : by_id_) {
    if (!lost.contains(id)) table->TakeOver(written.lsn);
  }
  return seen;
}

void Store::Recover() {
  const bool kept = OpenMemory();
  const StoreState written = DecodeState(db_.GetText(kStateKey).value_or(EncodeState({})));
  next_id_ = written.next_id;
  const uint64_t seen = RecoverTables(written, kept);
  const StoreState state = kept ? persistent_->ReadState() : written;
  std::map<uint32_t, std::string> lost;  // by table
  ClientTable clients(state.clients);
  uint64_t last_lsn = state.lsn;
  bool gap = false;  // the log begins behind what the pages have
  log_ = OpenLog(kept);
  // Or the names of pages/ and log/ might be lost with power, and all that is in them.
  SyncDirectory(options_.directory);
  SyncDirectory(DirName(options_.directory));
  Table::Scratch scratch;
  if (persistent_ != nullptr) scratch.undo = &persistent_->undo(0);
  const PushLog::Tail tail = log_->Recover([&](const Push& push) {
    gap = gap || push.lsn > last_lsn + 1;
    if (gap) return;
    last_lsn = std::max(last_lsn, push.lsn);
    if (push.lsn > state.lsn) clients.Remember(push.client, {push.sequence, push.lsn});
    const auto found = by_id_.find(push.table);
    if (found == by_id_.end()) return;  // it was dropped
    Table& table = *found->second;
    try {
      table.CheckPush(push);
      table.Touch(push.rows);
      Replay(table, push, scratch);
    } catch (const Error& error) {
      damage_.push_back(StrCat("push ", push.lsn, " was not replayed: ", error.what()));
      lost[push.table] = damage_.back();
      return;
    }
    replayed_++;
  });
  // Pages may be ahead of a log that was lost: a number that they have seen is not used again.
  const bool ahead = seen > std::max(last_lsn, log_->last_lsn());
  log_->AdvanceTo(std::max({last_lsn, tail.lost_after, seen}));
  if (tail.lost_after != 0 && !gap) {
    damage_.push_back(StrCat(tail.path, ": damaged at byte ", tail.offset, "; pushes ",
                             last_lsn + 1, " to ", tail.lost_after, " are lost"));
    for (const auto& [id, table] : by_id_) lost.emplace(id, damage_.back());
  }
  // Before the log is truncated, after which nothing else would tell.
  for (const auto& [id, why] : lost) PutTrouble(id, why);
  if (!lost.empty()) db_.Flush();
  // What was read stays until all of it is in RocksDB.
  std::unique_ptr<PushLog> left;
  if (persistent_ != nullptr && !kept) {
    left = std::exchange(log_, OpenLog(/*in_memory=*/true));
    log_->AdvanceTo(left->last_lsn());
  }
  PushLog& was_read = left != nullptr ? *left : *log_;
  if (persistent_ != nullptr) log_->KeepSegments(kMemorySegments);
  StartPipeline(std::move(clients));
  for (const std::string& what : damage_) LogError(what);
  if (replayed_ != 0) LogInfo("replayed ", replayed_, " pushes");
  if (tail.lost_after != 0 && !gap) {
    Cycle(/*at_once=*/true);
    was_read.SetAside();
  } else if (options_.durability == Durability::kNone || gap || ahead || left != nullptr) {
    // It would be replayed over what comes now.
    Cycle(/*at_once=*/true);
    was_read.Clear();
  }
  if (persistent_ != nullptr && !kept) {
    StoreState now;
    now.lsn = pipeline_->Cut(&now.clients);
    persistent_->WriteState(now);
    persistent_->Announce();
  }
}

void Store::StartPipeline(ClientTable clients) {
  Pipeline::Options options;
  options.threads = options_.threads;
  options.max_pending_bytes = options_.max_pending_bytes;
  options.max_log_bytes = options_.max_log_bytes;
  if (persistent_ != nullptr) {
    options.save_state = [this](const StoreState& state) { persistent_->WriteState(state); };
    options.trim_bytes =
        kSegmentsToTrim * std::min(options_.log_segment_bytes, kMemorySegmentBytes);
    options.undo = [this](size_t thread) { return &persistent_->undo(thread); };
  } else {
    options.log_half_full = [this] { WriteBackSoon(); };
  }
  const bool logs = options_.durability != Durability::kNone;
  pipeline_ = std::make_unique<Pipeline>(logs ? log_.get() : nullptr, std::move(options),
                                         log_->last_lsn(), std::move(clients));
  gate_ = std::make_unique<WriteBarrier>(*pipeline_, options_.max_pending_bytes);
}

// Nobody else is there. Where memory is bounded, its pages need not all fit.
void Store::Replay(Table& table, const Push& push, Table::Scratch& scratch) {
  RowOrder order(push.rows.size());
  order.Sort(push.rows, table.spec().rows);
  for (size_t lane = 0; lane < RowOrder::kLanes; lane++) {
    std::span<const uint32_t> picks = order.lane(lane);
    while (!picks.empty()) {
      size_t count = picks.size();
      if (memory_.bounded()) {
        const auto page_of = [&](uint32_t pick) { return push.rows[pick] / kPageRows; };
        for (count = 1; count < picks.size() && page_of(picks[count]) == page_of(picks[0]);)
          count++;
        table.Touch({&push.rows[picks[0]], 1});
      }
      table.Apply(push, picks.first(count), scratch);
      picks = picks.subspan(count);
    }
  }
}

}  // namespace graphd::store
