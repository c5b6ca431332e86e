// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "base/file.h"
#include "base/threads/mutex.h"
#include "store/log/store_state.h"
#include "store/memory_name.h"
#include "store/rows/arena.h"
#include "store/rows/undo_log.h"

// Memory of a store's tables that survives the end of the process, kill -9 included, but not a
// restart of the machine. It is a directory of its own in a tmpfs:
//
//   owner         the format's version, a random number and the path of the store's directory;
//                 locked by the process that uses the memory
//   state         StoreState: the rows here have all pushes up to its sequence number
//   written       a sequence number that RocksDB had when pages were last written to it
//   log/          the push log (PushLog)
//   table-ID.*    the files of an Arena
//   undo-N        the UndoLog of applying thread N
//
// The file `memory` in the store's directory has its path and its random number, from the time when
// all rows are in it until they are all in RocksDB again. It alone decides which memory counts. The
// next process takes the rows over, rolls back unfinished changes, and replays the log after
// `state`. It trusts only what has that number and what nobody else could have written: the user
// owns the directory and each file, others can't write them, and none is a link.
//
// A process that ends because another one follows leaves its memory to it, with all rows in RocksDB
// as well: then the file is called `memory-saved`, and has what RocksDB had. It counts only while
// RocksDB has the same; another version of the daemon does not know it, and goes on with RocksDB.
// Thread-safe.

namespace graphd::store {

class PersistentArena {
 public:
  // Creates one in `parent` for the store in `store_directory`, with an UndoLog for each of
  // `threads`. Removes directories that ended processes of the same store left there. Throws Error:
  // kIo, kOverloaded if the tmpfs is full, kDenied if other users can rename what is in `parent`.
  static std::unique_ptr<PersistentArena> Make(const std::string& parent,
                                               const std::string& store_directory, size_t threads);
  // Memory that the store's directory names, and that no longer exists.
  struct Gone {
    std::string directory;  // empty if nothing is gone
    // The tmpfs is still the same one: somebody removed the memory, and not a restart of the
    // machine.
    bool removed = false;
  };
  // Opens the one that the store's directory names. Returns null if there is none; if it no longer
  // exists, sets `gone`. `stored` is the state that RocksDB has, if it is known. Throws Error:
  // kExists if a process uses it, or if it belongs to a store in another directory; kDenied if it
  // is not the one that the store made, if another user could have written it, or if RocksDB is
  // older than it was; kVersion; kCorrupt; kIo.
  static std::unique_ptr<PersistentArena> Find(const std::string& store_directory, size_t threads,
                                               Gone* gone, const StoreState* stored = nullptr);
  // Removes memory that a process left to this one, which does not take it over.
  static void RemoveLeft(const std::string& store_directory);

  const std::string& directory() const noexcept { return name_.directory; }
  // Returns whether it has the rows of an earlier process.
  bool taken_over() const noexcept { return taken_over_; }

  Arena::Files FilesOf(uint32_t table, bool kept) const;
  // Removes the files of the table. Its memory is freed when it is no longer mapped.
  void RemoveTable(uint32_t table);

  // Allocates memory in the undo logs for tables whose pages have `page_bytes`. Throws
  // Error(kOverloaded).
  void ReserveUndo(uint64_t page_bytes);
  UndoLog& undo_log(size_t thread) { return *undo_logs_[thread % undo_logs_.size()]; }
  const std::vector<std::unique_ptr<UndoLog>>& undo_logs() const noexcept { return undo_logs_; }
  // Returns what has happened to undo logs of the earlier process, so that its unfinished changes
  // can't all be rolled back; or an empty text.
  std::string UndoDamage() const;
  // Renames the damaged undo logs to "damaged-...", and makes new ones. Call it when the damage is
  // stored elsewhere, before anything changes. Throws Error: kIo, kOverloaded.
  void ReplaceDamagedUndoLogs();

  StoreState ReadState() const;
  // Stores that the rows here have all pushes up to state.lsn. A state older than the last one is
  // ignored. Throws Error: kIo, kOverloaded if the tmpfs is full.
  void WriteState(const StoreState& state);
  // Stores that RocksDB has all pushes up to `lsn`, so that an older copy of RocksDB is noticed.
  void SetWritten(uint64_t lsn);
  // Writes its name into the store's directory. Call it before the first push.
  void Announce();
  // Throws Error(kIo) if the directory was removed or replaced, so that the next process would not
  // find what this one writes.
  void CheckInPlace() const;
  // Throws Error(kIo) if an UndoLog was removed, replaced or truncated, so that the next process
  // could not roll back what this one changes.
  void CheckUndoLogs() const;
  // Removes its name from the store's directory, when all rows are in RocksDB. Does not wait for
  // the disk to have the change if it was done before.
  void Forget();
  // Calls Forget, and removes the directory if it is still in its place.
  void Remove();
  // Leaves the memory to the next process, when all rows are in RocksDB and nothing changes any
  // more. `stored` is what RocksDB has.
  void Leave(const StoreState& stored);

 private:
  PersistentArena(MemoryName name, std::string store_directory, size_t threads, bool taken_over);
  static std::unique_ptr<PersistentArena> Open(MemoryName name, const std::string& store_directory,
                                               size_t threads, Gone* gone,
                                               const StoreState* stored);
  void ThrowIf(const std::string& what) const;
  void OpenUndoLogs(size_t threads);

  const MemoryName name_;
  const std::string store_directory_;
  const bool taken_over_;
  const UniqueFd directory_fd_;
  UniqueFd lock_;
  std::vector<std::unique_ptr<UndoLog>> undo_logs_;
  Mutex mutex_;  // guards the file `state`, too
  uint64_t state_lsn_ GRAPHD_GUARDED_BY(mutex_) = 0;
};

}  // namespace graphd::store
