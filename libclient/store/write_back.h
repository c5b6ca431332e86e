// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <atomic>
#include <cstdint>
#include <map>
#include <string>
#include <thread>

#include "base/threads/mutex.h"
#include "store/log/pipeline.h"
#include "store/persistent_arena.h"
#include "store/rows/memory_budget.h"
#include "store/rows/page_db.h"
#include "store/store_options.h"
#include "store/table_catalog.h"

namespace graphd::store {

// The writer of changed pages to RocksDB. It works in cycles, on a thread of its own or on request.
// A cycle writes all pages that changed before it began, flushes RocksDB and truncates the push
// log. With a PersistentArena, the thread also checks the files of the arena once a second. If they
// were removed, replaced or truncated, the thread makes the pipeline fail and writes everything
// back at once, so that no acknowledged change that is still in memory is lost. Thread-safe. The
// mutexes of a TableCatalog are taken after cycle_mutex_; no other lock is taken while mutex_ is
// held.
class WriteBack {
 public:
  // All arguments outlive the WriteBack. `arena` is null if memory is freed when the process ends.
  WriteBack(const StoreOptions& options, PageDb& db, MemoryBudget& memory, TableCatalog& catalog,
            PersistentArena* arena);
  WriteBack(const WriteBack&) = delete;
  WriteBack& operator=(const WriteBack&) = delete;

  // Sets the pipeline through which pushes come. Must be called once, when the store is recovered.
  // Before this call, only one thread uses the store, all pushes that are applied come from the
  // log, and only RequestClean may be called.
  void SetPipeline(Pipeline& pipeline) { pipeline_ = &pipeline; }
  // Starts the thread. It must be stopped, by RequestStop and then Join, before this is destroyed.
  void Start();
  void RequestStop();
  void Join() {
    if (thread_.joinable()) thread_.join();
  }

  // A lock that keeps cycles from running while it exists. Its constructor waits until the cycle
  // under way has ended, which continues at full speed.
  class GRAPHD_SCOPED_CAPABILITY Exclusive {
   public:
    explicit Exclusive(WriteBack& write_back) GRAPHD_ACQUIRE(write_back.cycle_mutex_);
    ~Exclusive() GRAPHD_RELEASE();
    Exclusive(const Exclusive&) = delete;
    Exclusive& operator=(const Exclusive&) = delete;

    // Does the work of a cycle. Throws as RunCycle. The constructor has locked cycle_mutex_, but
    // the thread safety analysis can't see that here.
    void WriteAll() const GRAPHD_NO_THREAD_SAFETY_ANALYSIS { write_back_.WriteAll(); }

   private:
    WriteBack& write_back_;
  };

  // Runs one cycle at full speed. Throws Error if pages can't be written; they stay in memory and
  // in the log.
  void RunCycle();

  // Returns whether the next process can use the memory of tables. It can if the memory has the
  // same rows as RocksDB, so if nothing has failed, no table has trouble, and no file was damaged.
  // Call it after the last cycle, when nothing changes any more.
  bool LeftMemoryIsGood();

  // Asks for a cycle because the log is half full. Returns at once.
  void RequestCycle();
  // Asks for changed pages to be written so that they can be evicted. Returns at once; the thread
  // writes them, and calls MemoryBudget::CleanDone at the end. While the store is being recovered,
  // does both itself before it returns.
  void RequestClean();

  // The changed bytes that the present cycle found when it began (`total`), and how many of them it
  // has written (`written`, which equals `total` only once all of them are on the disk). Between
  // cycles, these are the numbers of the last cycle.
  struct Progress {
    uint64_t written = 0, total = 0;
  };
  Progress progress() const noexcept;

  // Returns why the last cycle failed, or what has happened to the memory of tables, or an empty
  // text.
  std::string trouble() const;

 private:
  void WriteAll() GRAPHD_REQUIRES(cycle_mutex_);
  // Writes the changed pages of the table, except those that have a push after `last_lsn`. Returns
  // false if a page was left out.
  bool WriteTable(Table& table, uint64_t last_lsn) GRAPHD_REQUIRES(cycle_mutex_);
  void LeaveMemory(const std::map<uint32_t, std::string>& left_out);
  void Run();
  void RunLoop();
  bool RunCycleInBackground();
  bool IsUndamaged(Table& table);
  void CheckMemory();
  void CheckFiles();
  void Clean();
  bool StartsEarly() const GRAPHD_REQUIRES(mutex_);
  void SetTrouble(const std::string& why);

  const StoreOptions& options_;
  PageDb& db_;
  MemoryBudget& memory_;
  TableCatalog& catalog_;
  PersistentArena* const arena_;
  Pipeline* pipeline_ = nullptr;

  // Held for the whole of a cycle.
  Mutex cycle_mutex_ GRAPHD_ACQUIRED_BEFORE(mutex_){Mutex::kHeldLong};
  // A thread holds mutex_ while it makes a condition true for which another thread waits with
  // wake_, even if the condition is atomic, so that the other thread can't miss it.
  mutable Mutex mutex_;
  CondVar wake_;
  std::atomic<uint64_t> written_ = 0, total_ = 0;  // see progress()
  std::atomic<bool> flushed_ = true;               // the present cycle's pages are on the disk
  std::atomic<int> full_speed_calls_ = 0;          // calls that wait for cycles at full speed
  std::atomic<bool> clean_requested_ = false;      // pages must be written back to be evicted
  std::atomic<bool> log_half_full_ = false;        // a cycle should begin, to truncate the log
  bool stopping_ GRAPHD_GUARDED_BY(mutex_) = false;
  std::string trouble_ GRAPHD_GUARDED_BY(mutex_);
  bool rescued_ = false;  // a cycle has succeeded since the pipeline failed; only thread_ uses it
  std::thread thread_;
};

}  // namespace graphd::store
