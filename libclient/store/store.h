// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <atomic>
#include <chrono>
#include <condition_variable>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <shared_mutex>
#include <string>
#include <thread>
#include <vector>

#include "store/log/pipeline.h"
#include "store/log/push_log.h"
#include "store/log/write_barrier.h"
#include "store/persistent_arena.h"
#include "store/rows/huge_page_collapser.h"
#include "store/rows/memory_budget.h"
#include "store/rows/page_db.h"
#include "store/rows/table.h"

// The tables of one server: rows in memory, changes in a push log, pages in RocksDB. A directory:
//
//   pages/   RocksDB
//   log/     the push log (PushLog)
//   memory   while memory lasts: where it is (PersistentArena)
//
// Opening one after a crash loads the pages and replays the log behind them; a page that saw a push
// knows its number and passes over it, so each acknowledged push is there exactly once, bit for
// bit. Pages are written back in the background in cycles: a cycle writes every page that changed
// before it began, flushes, and truncates the log there.
//
// Where durability is kProcess, memory is not bounded and `memory_dir` is given, memory lasts: rows
// are where the next process finds them, the log is needed for pushes under way only, and cycles
// only bound what the end of the machine costs. Thread-safe.

namespace graphd::store {

enum class Durability : uint8_t {
  kNone,     // no log: what was pushed since the last write-back is lost with the process, and what
             // was not may be of different ages
  kProcess,  // acknowledged pushes survive the end of the process, kill -9 included; after the end
             // of the machine, rows are as one of the last write-backs found them
  kPower,    // and the loss of power
};
const char* DurabilityName(Durability durability) noexcept;
// Throws Error(kInvalid).
Durability DurabilityFromName(const std::string& name);

struct StoreOptions {
  std::string directory;
  Durability durability = Durability::kProcess;
  size_t threads = 2;                                // that apply pushes
  uint64_t max_pending_bytes = uint64_t{256} << 20;  // pushes not yet done
  uint64_t log_segment_bytes = uint64_t{64} << 20;
  uint64_t max_log_bytes = uint64_t{4} << 30;
  // From one cycle to the next; earlier if the log is half full. 0: half a minute, or five where
  // memory lasts, since only the end of the machine needs the disk then.
  double write_back_seconds = 0;
  uint64_t write_back_rate = uint64_t{100} << 20;  // bytes per second; more if the log is half full
  // Of all tables' rows and states, an eighth of it for pages on their way to the disk; 0: no
  // bound. Tables larger than that keep the rest in RocksDB only. The pages of one push must fit,
  // and one page always does. Less than 64 MiB is exceeded by some.
  uint64_t memory_bytes = 0;
  // A tmpfs for memory that lasts; empty: memory ends with the process.
  std::string memory_dir;
  size_t max_tables = 4096;
  // The ids of the rows of a table whose first_id is -1, asked when it is made or recovered.
  std::function<Table::RowIds(const TableSpec&)> row_ids = {};
};

class Store {
 public:
  // Opens or makes the directory, and recovers. Throws Error: kExists if another process has it,
  // kCorrupt if tables can't be told, kIo, kOverloaded.
  explicit Store(StoreOptions options);
  // Writes everything back.
  ~Store();
  Store(const Store&) = delete;
  Store& operator=(const Store&) = delete;

  // The table of this name; makes it if there is none. Throws Error(kInvalid), saying what differs,
  // if there is one of another kind; its first values and attributes are not compared, nor its
  // state if none is asked for. Throws Error(kOverloaded) beyond max_tables.
  std::shared_ptr<Table> OpenTable(const TableSpec& spec);
  // Throws Error(kNotFound).
  std::shared_ptr<Table> FindTable(const std::string& name) const;
  std::vector<std::shared_ptr<Table>> tables() const;
  // Gives a table without an optimiser's state this one, zero at first; on the disk on return.
  // Nothing happens if it has that; throws Error: kInvalid if it has another, kNotFound if it was
  // dropped.
  void AddState(const std::shared_ptr<Table>& table, OptimizerState state);
  // TableSpec::attributes; on the disk on return. Throws Error(kNotFound).
  void SetAttributes(const std::shared_ptr<Table>& table, const std::string& attributes);
  // Its rows are gone for good. Whoever holds it may go on using it meanwhile. Throws
  // Error(kNotFound).
  void DropTable(const std::string& name);

  // As Pipeline::Submit; `push.table` and `push.lsn` are filled in. While pushes are held, the push
  // waits, and what is wrong with it comes to `done`. Throws Error(kCorrupt) for a table in
  // trouble.
  void Submit(const std::shared_ptr<Table>& table, Push push, Pipeline::Done done);
  // Submit, and waits. Throws the reason if it fails.
  void Apply(const std::shared_ptr<Table>& table, const Push& push);

  // As Pipeline::LastSequence.
  uint64_t LastSequence(const ClientId& client) const { return pipeline_->LastSequence(client); }

  // One cycle, at full speed. Throws Error if pages can't be written; they stay in memory and log.
  void WriteBack();

  // Why the table is not what it should be (it lost pushes, or is half restored), or an empty text.
  std::string TroubleOf(const Table& table) const;
  // Lasts, also over a restart, until it is set to an empty text or the table is dropped.
  void SetTrouble(const Table& table, const std::string& why);

  // A checkpoint: PrepareCheckpoint, HoldPushes, WriteCheckpoint, and then the hold ends. To have
  // it of several stores, hold all of them before the first is written.
  //
  // Writes back at full speed while pushes go on, until little is left to write.
  void PrepareCheckpoint();
  // From now on pushes wait, and those that came before are done. It must end before the store, and
  // ends by itself after `limit`. Throws Error(kOverloaded) if there is one, or the disk is full,
  // Error(kIo).
  std::unique_ptr<WriteBarrierHold> HoldPushes(
      std::chrono::milliseconds limit = std::chrono::minutes(1));
  // Writes these tables as they are into a new directory (CheckpointReader reads it), to the disk;
  // its parent is there, on the store's disk or the files are copied. Returns what they are. Throws
  // Error: kDeadline if the hold ended meanwhile, kNotFound, kCorrupt for a table in trouble, kIo,
  // kOverloaded on a full disk; then the directory may be there in part.
  std::vector<TableSpec> WriteCheckpoint(const std::string& directory,
                                         const std::vector<std::string>& tables,
                                         const WriteBarrierHold& hold);

  struct Status {
    std::string memory;   // the directory of memory that lasts; empty if it does not
    std::string trouble;  // Store::trouble
    uint64_t last_lsn = 0, replayed = 0;
    uint64_t log_bytes = 0, page_bytes = 0, resident_bytes = 0;
  };
  Status status() const;
  // Empty, or why pushes wait or fail, or write-back fails.
  std::string trouble() const;
  // What opening found damaged: pages that can't be read, pushes that are lost. For the log and for
  // status.
  const std::vector<std::string>& damage() const noexcept { return damage_; }

 private:
  // While one lives, cycles go at full speed.
  class Hurry {
   public:
    explicit Hurry(Store* store);
    ~Hurry();
    Hurry(const Hurry&) = delete;
    Hurry& operator=(const Hurry&) = delete;

   private:
    Store* store_;
  };

  bool OpenMemory();
  std::unique_ptr<PushLog> OpenLog(bool in_memory) const;
  uint64_t RecoverTables(const StoreState& written, bool kept);
  void Recover();
  void Replay(Table& table, const Push& push, Table::Scratch& scratch);
  void StartPipeline(ClientTable clients);
  std::shared_ptr<Table> MakeTable(uint32_t id, TableSpec spec, bool kept);
  void AddTable(const std::shared_ptr<Table>& table);
  void PutSpec(const Table& table, OptimizerState state, const std::string& attributes);
  void Cycle(bool at_once);
  void WriteAll();  // under cycle_mutex_
  void WriteTable(Table& table);
  void RunWriteBack();
  void WriteBackSoon();
  void AskToClean();
  void Clean();
  void SayTrouble(const std::string& why);  // of write-back; empty: there is none any more
  void PutTrouble(uint32_t id, const std::string& why);  // under specs_mutex_
  void LoadTrouble();

  const StoreOptions options_;
  PageDb db_;
  MemoryBudget memory_;
  std::unique_ptr<PersistentArena> persistent_;  // null: memory ends with the process
  std::unique_ptr<PushLog> log_;
  std::unique_ptr<Pipeline> pipeline_;
  std::unique_ptr<WriteBarrier> gate_;
  std::vector<std::string> damage_;
  uint64_t replayed_ = 0;

  // Taken in this order. Who holds the last, which pushes take, does not wait for the disk.
  std::mutex cycle_mutex_;  // one cycle at a time
  std::mutex specs_mutex_;  // one change of what tables there are, and what they are
  std::mutex state_mutex_;  // one change of the StoreState in RocksDB
  mutable std::shared_mutex tables_mutex_;  // guards the maps, which change under specs_mutex_ too
  std::map<std::string, std::shared_ptr<Table>> by_name_;
  std::map<uint32_t, std::shared_ptr<Table>> by_id_;
  std::map<uint32_t, std::string> trouble_;  // by table
  std::atomic<uint32_t> next_id_ = 1;

  std::atomic<int> in_hurry_ = 0;  // calls that wait for cycles at full speed
  mutable std::mutex mutex_;       // guards the rest
  std::condition_variable wake_;
  std::atomic<bool> memory_wanted_ = false;  // pages must be written back, so that they can go
  std::atomic<bool> log_half_full_ = false;  // a cycle should begin, to truncate it
  bool stopping_ = false;
  std::string write_back_trouble_;
  std::thread write_back_;
  std::optional<HugePageCollapser> collapser_;  // where no page leaves memory
};

}  // namespace graphd::store
