// SPDX-License-Identifier: Apache-2.0
#include "store/write_back.h"

#include <algorithm>
#include <chrono>
#include <cstdint>
#include <map>
#include <memory>
#include <vector>

#include "base/failure.h"
#include "base/log.h"
#include "base/strings.h"
#include "base/threads/watched_thread.h"

namespace graphd::store {
namespace {

// Default intervals between cycles.
constexpr double kSeconds = 30, kSecondsWithPersistentArena = 300;
constexpr auto kCheckInterval = std::chrono::seconds(1);  // checks of a PersistentArena
// The wait after a cycle that failed, perhaps because of a passing shortage of space or
// descriptors.
constexpr std::chrono::steady_clock::duration kRetryInterval = std::chrono::seconds(10);
constexpr uint64_t kBatchBytes = uint64_t{4} << 20;  // bytes of pages that are written together

}  // namespace

WriteBack::Exclusive::Exclusive(WriteBack& write_back) : write_back_(write_back) {
  {
    const MutexLock lock(write_back_.mutex_);
    write_back_.full_speed_calls_++;
  }
  write_back_.wake_.NotifyAll();
  write_back_.cycle_mutex_.lock();
}

WriteBack::Exclusive::~Exclusive() {
  write_back_.cycle_mutex_.unlock();
  write_back_.full_speed_calls_--;
}

WriteBack::WriteBack(const StoreOptions& options, PageDb& db, MemoryBudget& memory,
                     TableCatalog& catalog, PersistentArena* arena)
    : options_(options), db_(db), memory_(memory), catalog_(catalog), arena_(arena) {}

void WriteBack::Start() {
  thread_ = std::thread([this] { Run(); });
}

void WriteBack::RequestStop() {
  {
    const MutexLock lock(mutex_);
    stopping_ = true;
  }
  wake_.NotifyAll();
}

void WriteBack::RunCycle() {
  const Exclusive exclusive(*this);
  WriteAll();
}

void WriteBack::WriteAll() {
  // RocksDB must not get a page with a push that the log does not have: after a crash, the client
  // would send the push again, and it would be applied twice. So WaitForState waits until the log
  // has the pushes so far, and WriteTable waits for later ones.
  catalog_.RestoreSpecs();
  const bool had_failed = pipeline_->failed();
  StoreState state = pipeline_->WaitForState();
  uint64_t changed = 0;
  for (const std::shared_ptr<Table>& table : catalog_.All()) changed += table->ChangedBytes();
  flushed_ = false;
  written_ = 0;
  total_ = changed;
  // After a failure, pages may have parts of pushes that were not acknowledged. Clients send these
  // pushes again, and RocksDB must not have any of them. So pages with a push after the table's
  // last good one are not written.
  const bool rescues = arena_ != nullptr && had_failed;
  std::map<uint32_t, std::string> left_out;
  for (const std::shared_ptr<Table>& table : catalog_.All()) {
    if (!IsUndamaged(*table) ||
        WriteTable(*table, rescues ? pipeline_->LastGood(table->id()) : UINT64_MAX))
      continue;
    left_out[table->id()] =
        "a push failed while it was applied; some rows are as of the last write-back";
  }
  catalog_.WriteState(state);
  catalog_.Flush();
  flushed_ = true;
  if (arena_ == nullptr) return pipeline_->TruncateLog(state.lsn);
  if (rescues) return LeaveMemory(left_out);
  try {
    arena_->CheckInPlace();
  } catch (const Error& error) {
    pipeline_->Fail(error);
    // Pushes may have been acknowledged since this cycle began. Another cycle writes these, too;
    // after Fail, no more of them follow.
    return WriteAll();
  }
  arena_->WriteState(state);
  arena_->SetWritten(state.lsn);
  if (!pipeline_->failed()) pipeline_->TruncateLog(state.lsn);
}

// Decides, after the pipeline has failed, whether the next process continues with the memory or
// with RocksDB. `left_out` has the tables of which some changed pages were not written to RocksDB,
// and the reason. If there are any and the memory is intact, throws Error(kIo), and the next
// process continues with the memory. Otherwise removes the name of the memory, and `left_out`
// becomes the trouble of these tables.
void WriteBack::LeaveMemory(const std::map<uint32_t, std::string>& left_out) {
  if (!left_out.empty()) {
    std::string what;
    try {
      CheckFiles();
    } catch (const Error& error) {
      what = error.what();
    }
    if (what.empty()) {
      Throw(ErrorCode::kIo,
            "some rows have a part of a push that failed; restart the server, which ",
            "continues with its memory");
    }
    catalog_.SetTroubles(left_out);
  }
  arena_->Forget();
}

// Returns whether the table's memory is undamaged, or was removed because the table was dropped
// meanwhile. If it was truncated, makes the pipeline fail,
// and sets the trouble of the table. RocksDB has its rows as of the last write-back, and must not
// get later pages of this table.
bool WriteBack::IsUndamaged(Table& table) {
  if (!table.damaged() || catalog_.IsDropped(table)) return true;
  const Error error(ErrorCode::kCorrupt,
                    StrCat("the memory of tables was damaged: ", table.WhatHappened()));
  pipeline_->Fail(error);
  if (catalog_.TroubleOf(table).empty()) {
    catalog_.SetTroubles({{table.id(), StrCat(error.what(),
                                              "; its rows are as of the last "
                                              "write-back")}});
  }
  return false;
}

// Throws Error(kIo) unless the next process can continue with the files of the PersistentArena.
void WriteBack::CheckFiles() {
  arena_->CheckInPlace();
  pipeline_->CheckLog();
  for (const std::shared_ptr<Table>& table : catalog_.All()) {
    if (!IsUndamaged(*table)) continue;
    const std::string what = table->WhatHappened();
    if (!what.empty() && !catalog_.IsDropped(*table)) {
      Throw(ErrorCode::kIo, "the memory of tables is no longer in its place: ", what);
    }
  }
}

bool WriteBack::LeftMemoryIsGood() {
  if (pipeline_->failed()) return false;
  for (const std::shared_ptr<Table>& table : catalog_.All()) {
    if (table->damaged() || !catalog_.TroubleOf(*table).empty()) return false;
  }
  try {
    CheckFiles();
    arena_->CheckUndoLogs();
  } catch (const Error&) {
    return false;
  }
  return true;
}

// Makes the pipeline fail if the files of the PersistentArena are no longer as they should be.
void WriteBack::CheckMemory() {
  try {
    CheckFiles();
    arena_->CheckUndoLogs();
  } catch (...) {
    pipeline_->Fail(CurrentError());
  }
}

bool WriteBack::WriteTable(Table& table, uint64_t last_lsn) {
  const uint64_t batch =
      memory_.bounded() ? std::min(kBatchBytes, options_.memory_bytes / 64) : kBatchBytes;
  const size_t most = std::max<size_t>(batch / std::max<size_t>(table.page_bytes(), 1), 1);
  std::vector<std::vector<std::byte>> bytes(most);
  std::vector<PageDb::Page> pages;
  pages.reserve(most);
  const uint64_t end = table.arena().num_pages();
  const auto begin = std::chrono::steady_clock::now();
  uint64_t written = 0;
  bool complete = true;
  for (uint64_t page = table.NextDirty(0); page < end;) {
    pages.clear();
    WatchedThread::CountProgress();
    uint64_t lsn = 0, size = 0;
    try {
      for (; page < end && pages.size() < most; page = table.NextDirty(page + 1)) {
        std::vector<std::byte>& copy = bytes[pages.size()];
        const uint64_t page_lsn = table.TakePage(page, copy);
        if (page_lsn > last_lsn) {
          table.PutBack(page);
          complete = false;
          continue;
        }
        pages.push_back({table.id(), page, page_lsn, copy});
        lsn = std::max(lsn, page_lsn);
        size += copy.size();
      }
      // During recovery, pipeline_ is null, and the log has all pushes that were applied.
      if (pipeline_ != nullptr) pipeline_->WaitDone(lsn);
      db_.PutPages(pages);
    } catch (...) {
      for (const PageDb::Page& each : pages) table.PutBack(each.page);
      throw;
    }
    for (const PageDb::Page& each : pages) table.Written(each.page);
    memory_.Changed();
    written += size;
    written_ += size;
    if (full_speed_calls_ > 0 || clean_requested_ ||
        pipeline_->log_bytes() > options_.max_log_bytes / 2) {
      continue;
    }
    const std::chrono::duration<double> due(static_cast<double>(written) /
                                            static_cast<double>(options_.write_back_rate));
    const auto next = begin + std::chrono::duration_cast<std::chrono::nanoseconds>(due);
    const MutexLock lock(mutex_);
    while (!stopping_ && full_speed_calls_ == 0 && !clean_requested_ &&
           wake_.WaitUntil(mutex_, next)) {
    }
  }
  return complete;
}

// Returns whether the next cycle begins before it is due, because the log is half full. No cycle
// begins early while the last attempt to write back has failed, because the thread would otherwise
// try again without a pause.
bool WriteBack::StartsEarly() const { return log_half_full_ && trouble_.empty(); }

void WriteBack::Run() {
  const WatchedThread watched("write-back");
  for (bool stopped = false; !stopped;) stopped = LogFailure("write-back", [this] { RunLoop(); });
}

void WriteBack::RunLoop() {
  using SteadyClock = std::chrono::steady_clock;
  const auto pause = std::chrono::duration_cast<SteadyClock::duration>(
      std::chrono::duration<double>(options_.write_back_seconds != 0 ? options_.write_back_seconds
                                    : arena_ != nullptr              ? kSecondsWithPersistentArena
                                                                     : kSeconds));
  auto next = SteadyClock::now() + pause;
  MutexLock lock(mutex_);
  while (!stopping_) {
    const auto wake =
        arena_ != nullptr ? std::min(next, SteadyClock::now() + kCheckInterval) : next;
    while (!stopping_ && !clean_requested_ && !StartsEarly() && wake_.WaitUntil(mutex_, wake)) {
    }
    if (stopping_) return;
    const bool due = StartsEarly() || SteadyClock::now() >= next;
    lock.Unlock();
    if (arena_ != nullptr) CheckMemory();
    // After the pipeline has failed, rows that are only in memory are at risk, so they are written
    // back at once.
    const bool rescues = arena_ != nullptr && !rescued_ && pipeline_->failed();
    if (due || rescues) {
      const bool done = RunCycleInBackground();
      next = SteadyClock::now() + (done ? pause : std::min(pause, kRetryInterval));
    } else if (clean_requested_) {
      clean_requested_ = false;
      Clean();
    }
    lock.Lock();
  }
}

// Runs a cycle and notes its error as trouble. Returns whether it was successful.
bool WriteBack::RunCycleInBackground() {
  log_half_full_ = false;  // before the cycle, because pushes during it may require another one
  std::string trouble;
  const bool failed = pipeline_->failed();
  try {
    const MutexLock cycle(cycle_mutex_);
    WriteAll();
    rescued_ = failed;
  } catch (...) {
    trouble = CurrentError().what();
  }
  SetTrouble(trouble);
  return trouble.empty();
}

// `log_half_full_` stays set until a cycle begins, so the thread is not woken for each push.
void WriteBack::RequestCycle() {
  if (log_half_full_) return;
  {
    const MutexLock lock(mutex_);
    log_half_full_ = true;
  }
  wake_.NotifyAll();
}

void WriteBack::RequestClean() {
  if (pipeline_ == nullptr) return Clean();  // the store is being recovered
  {
    const MutexLock lock(mutex_);
    clean_requested_ = true;
  }
  wake_.NotifyAll();
}

// Writes changed pages so that they can be evicted, without the flush that ends a cycle.
void WriteBack::Clean() {
  try {
    const Exclusive exclusive(*this);
    for (const std::shared_ptr<Table>& table : catalog_.All()) WriteTable(*table, UINT64_MAX);
    memory_.CleanDone(nullptr);
  } catch (...) {
    const Error error = CurrentError();
    SetTrouble(error.what());
    memory_.CleanDone(&error);
  }
}

WriteBack::Progress WriteBack::progress() const noexcept {
  const uint64_t total = total_;
  if (flushed_ || total == 0) return {total, total};
  return {std::min<uint64_t>(written_, total - 1), total};
}

std::string WriteBack::trouble() const {
  const MutexLock lock(mutex_);
  return trouble_;
}

// Logs the trouble only if it has changed, because each read that waits for memory may report it
// again.
void WriteBack::SetTrouble(const std::string& why) {
  const MutexLock lock(mutex_);
  if (why == trouble_) return;
  trouble_ = why;
  if (why.empty()) {
    LogInfo("write-back works again");
  } else {
    LogError("write-back: ", why, "; the changes stay in memory and in the log");
  }
}

}  // namespace graphd::store
