// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <chrono>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "store/log/pipeline.h"
#include "store/log/push_log.h"
#include "store/log/write_barrier.h"
#include "store/persistent_arena.h"
#include "store/rows/huge_page_collapser.h"
#include "store/rows/memory_budget.h"
#include "store/rows/page_db.h"
#include "store/rows/table.h"
#include "store/rows/table_preparer.h"
#include "store/store_options.h"
#include "store/table_catalog.h"
#include "store/write_back.h"

// The tables of one server: rows in memory, changes in a push log, pages in RocksDB. A store is a
// directory:
//
//   pages/   RocksDB
//   log/     the push log (PushLog)
//   memory   the name of the memory that survives the process (PersistentArena), while it is used
//
// Opening a store after a crash (StoreRecovery) loads the pages and replays the log over them. Each
// page has the sequence number of its last push and skips pushes up to it, so each acknowledged
// push is applied exactly once, bit for bit. Changed pages are written back in the background
// (WriteBack).
//
// If the options are Durability::kProcess, a `memory_dir` and no memory budget, rows survive the
// process in a PersistentArena. The log is then needed only for pushes that are not done, and
// write-back only limits the loss in a crash of the machine. Thread-safe.

namespace graphd::store {

class Store {
 public:
  // Opens or creates the directory, and recovers its tables. Throws Error: kExists if another
  // process has it open, kCorrupt if the descriptions of tables can't be read, kIo, kOverloaded.
  explicit Store(StoreOptions options);
  // Writes all changed pages back.
  ~Store();
  Store(const Store&) = delete;
  Store& operator=(const Store&) = delete;

  // Returns the table of this name, and creates it if it does not exist. Throws Error: kInvalid,
  // naming the differences, if the table exists and differs from `spec` (first values and
  // attributes are not compared, nor is the optimiser state if `spec` has none); kOverloaded if
  // there are max_tables tables already, or if there is no memory; kIo.
  std::shared_ptr<Table> OpenTable(const TableSpec& spec);
  // Throws Error(kNotFound).
  std::shared_ptr<Table> FindTable(const std::string& name) const { return catalog_.Find(name); }
  std::vector<std::shared_ptr<Table>> tables() const { return catalog_.All(); }
  // Gives optimiser state of zeros to a table that has none. The change is on the disk on return. A
  // table that has this state is left as it is. Throws Error: kInvalid if the table has another
  // state, kNotFound if it was dropped, kOverloaded or kIo.
  void AddState(const std::shared_ptr<Table>& table, OptimizerState state) {
    catalog_.AddState(table, state);
  }
  // Replaces TableSpec::attributes. The change is on the disk on return. Throws Error: kNotFound if
  // the table was dropped, or kIo.
  void SetAttributes(const std::shared_ptr<Table>& table, const std::string& attributes) {
    catalog_.SetAttributes(table, attributes);
  }
  // Deletes the table and its rows. Callers that hold a pointer to the table may go on reading it.
  // Throws Error(kNotFound), and Error(kIo) or Error(kOverloaded) if the table is not dropped or,
  // as IsDropped says, if it is, but the disk does not have this change yet.
  void DropTable(const std::string& name);
  bool IsDropped(const Table& table) const { return catalog_.IsDropped(table); }

  // Submits a push as Pipeline::Submit does, and fills in `push.table` and `push.lsn`. While pushes
  // are held (HoldPushes), the push waits, and errors are reported to `done`. Throws
  // Error(kCorrupt) if TroubleOf returns a text for the table, unless the push is of
  // UpdateKind::kLoad.
  void Submit(const std::shared_ptr<Table>& table, Push push, Pipeline::Done done);
  // Submits a push and waits until it is done. Throws its error if it fails.
  void Apply(const std::shared_ptr<Table>& table, const Push& push);

  // See Pipeline::LastSequence.
  uint64_t LastSequence(const ClientId& client) const { return pipeline_->LastSequence(client); }

  // Writes all changed pages back at full speed. Throws Error if pages can't be written; they stay
  // in memory and in the log.
  void WriteBackNow() { write_back_.RunCycle(); }
  // Refuses new pushes from now on with Error(kUnavailable), because the process is about to end.
  void RefusePushes() { pipeline_->Refuse(); }
  WriteBack::Progress write_back_progress() const noexcept { return write_back_.progress(); }

  // Returns why the table can't be trusted (it lost pushes, or a restore is unfinished), or an
  // empty text.
  std::string TroubleOf(const Table& table) const { return catalog_.TroubleOf(table); }
  // Sets the trouble of a table, which survives restarts until it is set to an empty text or the
  // table is dropped. The change is on the disk on return. Throws Error(kIo).
  void SetTrouble(const Table& table, const std::string& why) {
    catalog_.SetTroubles({{table.id(), why}});
  }

  // To make a checkpoint, call PrepareCheckpoint, HoldPushes and WriteCheckpoint, and then release
  // the hold. For a consistent checkpoint of several stores, hold the pushes of all of them before
  // you write the first one.
  //
  // PrepareCheckpoint writes pages back at full speed while pushes go on, until little is left to
  // write. Throws as WriteBackNow.
  void PrepareCheckpoint();
  // Makes new pushes wait, and waits until earlier ones are done. The hold must be released before
  // the store is destroyed, and expires at the limits in `options`. Throws what WriteBarrierHold
  // throws: kOverloaded before TimeToNextHold() has passed, for example.
  std::unique_ptr<WriteBarrierHold> HoldPushes(HoldOptions options = {});
  // See WriteBarrier::TimeToNextHold.
  std::chrono::milliseconds TimeToNextHold(const std::string& job) const {
    return barrier_->TimeToNextHold(job);
  }
  // Writes the current rows of these tables into a new directory, which a CheckpointReader can
  // read. All files are on the disk on return. If the directory is on the file system of the store,
  // files are linked, and otherwise they are copied. Its parent directory must exist. Returns the
  // descriptions of the tables. Throws Error: kDeadline if the hold has expired; kNotFound;
  // kCorrupt for a table with trouble; kIo; kOverloaded if the disk is full. After an error, a part
  // of the directory may exist.
  std::vector<TableSpec> WriteCheckpoint(const std::string& directory,
                                         const std::vector<std::string>& tables,
                                         const WriteBarrierHold& hold);

  struct Status {
    std::string memory;   // the directory of the PersistentArena; empty if there is none
    std::string trouble;  // see Store::trouble
    uint64_t last_lsn = 0, replayed = 0;
    uint64_t log_bytes = 0, page_bytes = 0, resident_bytes = 0;
  };
  Status status() const;
  // Returns the approximate bytes that the table takes in RocksDB's files.
  uint64_t StoredBytes(const Table& table) const { return db_.BytesOfTable(table.id()); }
  // Returns why pushes wait or fail, or why write-back fails, or an empty text if all is well.
  std::string trouble() const;
  // Returns one message for each damage that recovery found, such as an unreadable page or lost
  // pushes.
  const std::vector<std::string>& damage() const noexcept { return damage_; }

 private:
  // Throws Error(kCorrupt) if one of the tables has trouble.
  void CheckSavable(const std::vector<std::shared_ptr<Table>>& tables) const;
  void StartPipeline(ClientTable clients, uint64_t trim_bytes);

  const StoreOptions options_;
  PageDb db_;
  MemoryBudget memory_;
  std::string removed_memory_;                    // the path of memory that somebody has removed
  const std::unique_ptr<PersistentArena> arena_;  // null: memory is freed with the process
  TableCatalog catalog_;
  WriteBack write_back_;
  std::unique_ptr<PushLog> log_;
  std::unique_ptr<Pipeline> pipeline_;
  std::unique_ptr<WriteBarrier> barrier_;
  std::vector<std::string> damage_;
  uint64_t replayed_ = 0;
  // Both are absent with a memory budget, because it evicts pages.
  std::optional<HugePageCollapser> collapser_;
  std::optional<TablePreparer> preparer_;
};

}  // namespace graphd::store
