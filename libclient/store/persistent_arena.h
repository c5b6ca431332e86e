// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <cstdint>
#include <memory>
#include <mutex>
#include <string>
#include <vector>

#include "base/file.h"
#include "store/log/store_state.h"
#include "store/rows/arena.h"
#include "store/rows/undo_log.h"

// Memory of a store's tables that outlasts the process, kill -9 included, though not the machine's
// restart: a directory of its own in a tmpfs.
//
//   owner         the store's directory, and the lock of who uses this
//   state         StoreState: up to its number, the push log is not needed for the rows here
//   table-ID.*    Arena's files
//   undo-N        UndoLog of applying thread N
//
// The store's directory names it in the file `memory`, from when all rows are in here until they
// are all in RocksDB again. The next process goes on with what lies there, takes back what was
// being changed, and replays what the log has behind it. Thread-safe.

namespace graphd::store {

class PersistentArena {
 public:
  // A new one in `parent` for the store in `store_directory`, with an UndoLog for each of
  // `threads`. Removes what ended processes of the same store left there and nothing names. Throws
  // Error.
  static std::unique_ptr<PersistentArena> Make(const std::string& parent,
                                               const std::string& store_directory, size_t threads);
  // What the store's directory names; null if it names nothing. If that is gone, because the
  // machine was restarted, `gone` says so, and it is null, too. Throws Error: kExists if a process
  // has it, or it belongs to a store of another directory; kCorrupt, kIo.
  static std::unique_ptr<PersistentArena> Find(const std::string& store_directory, size_t threads,
                                               std::string* gone);

  const std::string& directory() const noexcept { return directory_; }
  // Whether rows of an earlier process are in it.
  bool kept() const noexcept { return kept_; }

  Arena::Files FilesOf(uint32_t table, bool kept) const;
  // Those who use the table's memory keep it until they have done.
  void RemoveTable(uint32_t table);

  // Has memory for tables whose pages have that many bytes. Throws Error(kOverloaded).
  void ReserveUndo(uint64_t page_bytes);
  UndoLog& undo_log(size_t thread) { return *undo_logs_[thread % undo_logs_.size()]; }
  const std::vector<std::unique_ptr<UndoLog>>& undo_logs() const noexcept { return undo_logs_; }

  StoreState ReadState() const;
  // Rows here have all pushes up to state.lsn. Older ones than the last are passed over.
  void WriteState(const StoreState& state);
  // From now on the store's directory names it.
  void Announce();
  // All rows are in RocksDB: it goes.
  void Remove();

 private:
  PersistentArena(std::string directory, std::string store_directory, size_t threads, bool kept);

  const std::string directory_, store_directory_;
  const bool kept_;
  UniqueFd lock_;
  std::vector<std::unique_ptr<UndoLog>> undo_logs_;
  std::mutex mutex_;  // guards state_lsn_ and the file `state`
  uint64_t state_lsn_ = 0;
};

}  // namespace graphd::store
