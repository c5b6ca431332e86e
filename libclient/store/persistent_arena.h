// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <cstdint>
#include <functional>
#include <memory>
#include <set>
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
//   written       the sequence number up to which RocksDB had all pushes when pages were last
//                 written to it
//   log/          the push log (PushLog)
//   table-ID.*    the files of an Arena
//   undo-N        the UndoLog of applying thread N
//
// The file `memory` in the store's directory has the path and the random number of the memory. It
// exists from the time when all rows are in the memory until they are all in RocksDB again, and it
// alone decides which memory is valid. The next process takes the rows over, rolls back unfinished
// changes, and replays the log after `state`. It trusts only memory that has the random number and
// that no other user could have written: the user owns the directory and each file, others can't
// write them, and none is a link.
//
// A process that ends because another process follows it at once writes all rows to RocksDB and
// then leaves its memory to that process. The file `memory` is then replaced by `memory-saved`,
// which also contains the numbers of the StoreState that RocksDB has, and is valid only while
// RocksDB still has this state. A version of the daemon that does not know this file continues with
// RocksDB. Thread-safe.

namespace graphd::store {

class PersistentArena {
 public:
  // Creates memory in `parent` for the store in `store_directory`, with an UndoLog for each of
  // `threads`. Removes directories in `parent` that ended processes of the same store have left.
  // Throws Error: kIo, kOverloaded if the tmpfs is full, kDenied if other users can rename files in
  // `parent`.
  static std::unique_ptr<PersistentArena> Make(const std::string& parent,
                                               const std::string& store_directory, size_t threads);
  // The description of memory that the store's directory names, and that no longer exists.
  struct Gone {
    std::string directory;  // empty if nothing is gone
    // Whether the tmpfs is still the same, so that the memory was removed by somebody and not by a
    // restart of the machine.
    bool removed = false;
  };
  // Opens the memory that the store's directory names. Returns null if it names none. If the memory
  // no longer exists, returns null and sets `gone`. `stored` is the state of RocksDB, if it is
  // known. Throws Error: kExists if a process uses the memory, or if the memory belongs to a store
  // in another directory; kDenied if it is not the memory that the store made, if another user
  // could have written it, or if RocksDB is older than it was when the memory was used; kVersion;
  // kCorrupt; kIo.
  static std::unique_ptr<PersistentArena> Find(const std::string& store_directory, size_t threads,
                                               Gone* gone, const StoreState* stored = nullptr);
  // Removes the memory that the previous process has left, if there is any. Called if this process
  // does not take it over.
  static void RemoveLeft(const std::string& store_directory);

  const std::string& directory() const noexcept { return name_.directory; }
  // Returns whether the memory has the rows of an earlier process.
  bool taken_over() const noexcept { return taken_over_; }

  Arena::Files FilesOf(uint32_t table, bool kept) const;
  // Removes the files of all other tables than these. Their memory is freed when it is no longer
  // mapped. Throws Error(kIo), also if descriptors have run out.
  void RemoveTablesExcept(const std::set<uint32_t>& tables);

  // Allocates memory in the undo logs for a table whose pages have `page_bytes`, and then calls
  // `make`, which makes the table. If anything throws, frees the memory again; so nothing may use
  // the table before this function returns. Throws what `make` throws, and Error(kOverloaded).
  void ReserveUndo(uint64_t page_bytes, const std::function<void()>& make);
  UndoLog& undo_log(size_t thread) { return *undo_logs_[thread % undo_logs_.size()]; }
  const std::vector<std::unique_ptr<UndoLog>>& undo_logs() const noexcept { return undo_logs_; }
  // Returns the damage to the undo logs of the earlier process, or an empty text. Changes that are
  // only in a damaged log can't be rolled back.
  std::string UndoDamage() const;
  // Renames the damaged undo logs to "damaged-...", and makes new ones. Must be called after the
  // damage was stored elsewhere, and before any row changes. Throws Error: kIo, kOverloaded.
  void ReplaceDamagedUndoLogs();

  StoreState ReadState() const;
  // Stores that the rows here have all pushes up to state.lsn. A state older than the last one is
  // ignored. Throws Error: kIo, kOverloaded if the tmpfs is full.
  void WriteState(const StoreState& state);
  // Stores that RocksDB has all pushes up to `lsn`, so that an older copy of RocksDB is noticed.
  void SetWritten(uint64_t lsn);
  // Writes the name of the memory into the store's directory. Must be called before the first push.
  void Announce();
  // Throws Error(kIo) if the directory was removed or replaced, so that the next process would not
  // find the rows that this process writes.
  void CheckInPlace() const;
  // Throws Error(kIo) if an UndoLog was removed, replaced or truncated, so that the next process
  // could not roll back the changes of this process.
  void CheckUndoLogs() const;
  // Removes the name of the memory from the store's directory. All rows must be in RocksDB. Waits
  // until the change is on the disk, unless the name was removed before.
  void Forget();
  // Calls Forget, and removes the directory of the memory if it is still in its place.
  void Remove();
  // Leaves the memory to the next process. Call it when all rows are in RocksDB and nothing changes
  // any more. `stored` is the state that RocksDB has.
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
  Mutex mutex_;  // also serialises writes of the file `state`
  uint64_t state_lsn_ GRAPHD_GUARDED_BY(mutex_) = 0;
};

}  // namespace graphd::store
