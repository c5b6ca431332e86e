// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <atomic>
#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "base/threads/mutex.h"
#include "store/log/store_state.h"
#include "store/persistent_arena.h"
#include "store/rows/memory_budget.h"
#include "store/rows/page_db.h"
#include "store/rows/table.h"
#include "store/store_options.h"
#include "store/trouble_register.h"

namespace graphd::store {

// The catalog of a store's tables, which creates, finds, describes and drops tables, and keeps
// their descriptions in RocksDB. Thread-safe. Its mutexes are taken after WriteBack::Exclusive.
class TableCatalog {
 public:
  // All arguments outlive the catalog. `arena` is null if memory is freed when the process ends.
  // Throws Error(kCorrupt) or Error(kIo).
  TableCatalog(const StoreOptions& options, PageDb& db, MemoryBudget& memory,
               PersistentArena* arena);

  // See Store::OpenTable, FindTable, tables, AddState and SetAttributes. Open also sets `created`
  // to whether it has created the table.
  std::shared_ptr<Table> Open(const TableSpec& spec, bool* created);
  std::shared_ptr<Table> Find(const std::string& name) const;
  std::vector<std::shared_ptr<Table>> All() const;
  void AddState(const std::shared_ptr<Table>& table, OptimizerState state);
  void SetAttributes(const std::shared_ptr<Table>& table, const std::string& attributes);
  // Deletes the table and its pages. The caller holds WriteBack::Exclusive; otherwise a cycle could
  // write the pages again. Throws Error(kNotFound) if the table was dropped, and what PageDb throws
  // if nothing was changed, or if the change is not on the disk yet: the table is dropped then, as
  // IsDropped says, but would be there again, with all its rows, if the process ended now.
  void Drop(const Table& table);
  bool IsDropped(const Table& table) const { return FindById(table.id()).get() != &table; }

  // Returns the table of this id, or null.
  std::shared_ptr<Table> FindById(uint32_t id) const;

  // See Store::TroubleOf.
  std::string TroubleOf(const Table& table) const { return troubles_.Find(table.id()); }
  // Sets the trouble of tables by their ids, except of those that were dropped, and waits for the
  // disk. An empty text removes the trouble. Throws Error(kIo).
  void SetTroubles(const std::map<uint32_t, std::string>& troubles);

  // Returns the state of the store as RocksDB has it. Throws Error(kCorrupt) or Error(kIo).
  StoreState ReadState() const { return StateIn(db_); }
  static StoreState StateIn(const PageDb& db);
  // Sets `state.next_id` to the id of the next table, and puts the state into RocksDB unless this
  // process has put the same one before: an idle store writes nothing. The state is on the disk
  // after the next flush. Throws Error(kIo).
  void WriteState(StoreState& state);

  // Restores the descriptions that RocksDB has from changes that failed, and waits for the disk if
  // there are any. Throws what PageDb throws.
  void RestoreSpecs();
  // Waits until all changes, in this catalog and of pages, are on the disk, and then frees the
  // memory of tables that were dropped. Throws what PageDb throws.
  void Flush();

  // These functions are only for the recovery, which uses one thread. StoredSpecs returns the
  // tables that RocksDB describes, by id; of several with one name, only the last one, because the
  // others are of creations that have failed. Add adds a table, and takes over its memory files if
  // they were `kept`. RemoveOthers removes what a process that was killed has left of other tables.
  // They throw Error: kCorrupt, kNotFound, kIo, kOverloaded.
  std::vector<std::pair<uint32_t, TableSpec>> StoredSpecs() const;
  std::shared_ptr<Table> Add(uint32_t id, const TableSpec& spec, bool kept);
  void RemoveOthers();
  // Returns the description with the attributes.
  static TableSpec SpecOf(const Table& table);
  void LoadTroubles();

 private:
  using TablesByName = std::map<std::string, std::shared_ptr<Table>>;
  using TablesById = std::map<uint32_t, std::shared_ptr<Table>>;

  std::set<uint32_t> StoredIds() const;
  std::shared_ptr<Table> MakeTable(uint32_t id, TableSpec spec, bool kept);
  void AddToMaps(const std::shared_ptr<Table>& table) GRAPHD_REQUIRES(specs_mutex_);
  void PutSpec(const Table& table, OptimizerState state, const std::string& attributes)
      GRAPHD_REQUIRES(specs_mutex_);
  void PutSpec(uint32_t id, const std::string& spec) GRAPHD_REQUIRES(specs_mutex_);
  void PutFormerSpecs() GRAPHD_REQUIRES(specs_mutex_);
  void RemoveDroppedFiles() noexcept GRAPHD_REQUIRES(specs_mutex_);
  void PutState(const StoreState& state) GRAPHD_REQUIRES(state_mutex_);
  // Return the maps to a caller that holds specs_mutex_. It may read them without tables_mutex_,
  // because only a holder of specs_mutex_ changes them.
  const TablesByName& by_name() const
      GRAPHD_REQUIRES(specs_mutex_) GRAPHD_NO_THREAD_SAFETY_ANALYSIS {
    return by_name_;
  }
  const TablesById& by_id() const GRAPHD_REQUIRES(specs_mutex_) GRAPHD_NO_THREAD_SAFETY_ANALYSIS {
    return by_id_;
  }

  const StoreOptions& options_;
  PageDb& db_;
  MemoryBudget& memory_;
  PersistentArena* const arena_;
  std::atomic<uint32_t> next_id_;

  // Serialises changes of the tables and their descriptions.
  Mutex specs_mutex_ GRAPHD_ACQUIRED_BEFORE(state_mutex_, tables_mutex_){Mutex::kHeldLong};
  // Descriptions, by their names in RocksDB, as they were before a change that failed, or nothing
  // for a table that could not be created. While the disk is full, RocksDB may refuse to put them
  // back, but would write the failed change to the disk later.
  std::map<std::string, std::optional<std::string>> former_specs_ GRAPHD_GUARDED_BY(specs_mutex_);
  // Whether the arena may have files of tables that were dropped.
  bool has_dropped_files_ GRAPHD_GUARDED_BY(specs_mutex_) = false;
  // Serialises changes of the StoreState in RocksDB.
  Mutex state_mutex_ GRAPHD_ACQUIRED_BEFORE(tables_mutex_){Mutex::kHeldLong};
  // The text of the state that this process has put into RocksDB last, or an empty text. All of it
  // is compared: after a failed push, clients of other tables change while the lsn does not.
  std::string put_state_ GRAPHD_GUARDED_BY(state_mutex_);
  // Pushes take this mutex, so its holder never waits for the disk. The maps change only while
  // specs_mutex_ is held, too.
  mutable SharedMutex tables_mutex_;
  TablesByName by_name_ GRAPHD_GUARDED_BY(tables_mutex_);
  TablesById by_id_ GRAPHD_GUARDED_BY(tables_mutex_);
  TroubleRegister troubles_;  // changed while specs_mutex_ is held
};

}  // namespace graphd::store
