// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "base/file.h"
#include "base/mutex.h"
#include "store/log/store_state.h"
#include "store/rows/arena.h"
#include "store/rows/undo_log.h"

// Memory of a store's tables that survives the end of the process, kill -9 included, but not a
// restart of the machine. It is a directory of its own in a tmpfs:
//
//   owner         the path of the store's directory; locked by the process that uses the memory
//   state         StoreState: the rows here have all pushes up to its sequence number
//   log/          the push log (PushLog)
//   table-ID.*    the files of an Arena
//   undo-N        the UndoLog of applying thread N
//
// The file `memory` in the store's directory has its path, from the time when all rows are in it
// until they are all in RocksDB again. The next process takes the rows over, rolls back unfinished
// changes, and replays the log after `state`. Thread-safe.

namespace graphd::store {

class PersistentArena {
 public:
  // Creates one in `parent` for the store in `store_directory`, with an UndoLog for each of
  // `threads`. Removes directories that ended processes of the same store left there. Throws Error:
  // kIo, kOverloaded if the tmpfs is full.
  static std::unique_ptr<PersistentArena> Make(const std::string& parent,
                                               const std::string& store_directory, size_t threads);
  // Opens the one whose path is in the store's directory. Returns null if there is none; if it no
  // longer exists, because the machine was restarted, `gone` is set to its path. Throws Error:
  // kExists if a process uses it, or if it belongs to a store in another directory; kCorrupt, kIo.
  static std::unique_ptr<PersistentArena> Find(const std::string& store_directory, size_t threads,
                                               std::string* gone);

  const std::string& directory() const noexcept { return directory_; }
  // Returns whether it has the rows of an earlier process.
  bool kept() const noexcept { return kept_; }

  Arena::Files FilesOf(uint32_t table, bool kept) const;
  // Removes the files of the table. Its memory is freed when it is no longer mapped.
  void RemoveTable(uint32_t table);

  // Allocates memory in the undo logs for tables whose pages have `page_bytes`. Throws
  // Error(kOverloaded).
  void ReserveUndo(uint64_t page_bytes);
  UndoLog& undo_log(size_t thread) { return *undo_logs_[thread % undo_logs_.size()]; }
  const std::vector<std::unique_ptr<UndoLog>>& undo_logs() const noexcept { return undo_logs_; }

  StoreState ReadState() const;
  // Stores that the rows here have all pushes up to state.lsn. A state older than the last one is
  // ignored. Throws Error: kIo, kOverloaded if the tmpfs is full.
  void WriteState(const StoreState& state);
  // Writes its path into the store's directory, on the disk.
  void Announce();
  // Removes it, and its path from the store's directory, when all rows are in RocksDB.
  void Remove();

 private:
  PersistentArena(std::string directory, std::string store_directory, size_t threads, bool kept);

  const std::string directory_, store_directory_;
  const bool kept_;
  UniqueFd lock_;
  std::vector<std::unique_ptr<UndoLog>> undo_logs_;
  Mutex mutex_;  // guards the file `state`, too
  uint64_t state_lsn_ GRAPHD_GUARDED_BY(mutex_) = 0;
};

}  // namespace graphd::store
