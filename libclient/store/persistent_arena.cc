// SPDX-License-Identifier: Apache-2.0
#include "store/persistent_arena.h"

#include <fcntl.h>
#include <stdlib.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <sys/statfs.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <optional>

#include "base/directory.h"
#include "base/log.h"
#include "base/strings.h"
#include "store/rows/memory_dir.h"

namespace graphd::store {
namespace {

std::string StatePath(const std::string& directory) { return directory + "/state"; }
std::string WrittenPath(const std::string& directory) { return directory + "/written"; }

// Locks the file `owner`, and returns its descriptor, which keeps the lock until it is closed.
// Returns no descriptor if another process has the lock.
UniqueFd TryLock(const std::string& directory) {
  UniqueFd fd = OpenOwnFile(MemoryOwner::PathIn(directory), O_RDONLY);
  if (::flock(fd.get(), LOCK_EX | LOCK_NB) != 0) {
    if (errno != EWOULDBLOCK) ThrowErrno("can't lock", MemoryOwner::PathIn(directory));
    return {};
  }
  return fd;
}

// Runs f. If f throws because the tmpfs that holds `path` is full, adds a remedy to the error.
template <class F>
void WriteToMemory(const std::string& path, const F& f) {
  try {
    f();
  } catch (const Error& error) {
    struct statfs status {};
    const bool full = ::statfs(path.c_str(), &status) == 0 && status.f_bavail == 0;
    if (error.code() != ErrorCode::kOverloaded || !full) throw;
    Throw(error.code(), error.what(), ": ", FullMemoryDir(path));
  }
}

// Removes a directory of memory if it belongs to this store and the process that used it has ended.
void RemoveIfAbandoned(const std::string& directory, const std::string& store_directory) {
  try {
    OpenOwnDirectory(directory);
    const std::optional<MemoryOwner> owner = MemoryOwner::Read(directory);
    const bool ours = owner && owner->store_directory == CanonicalPath(store_directory);
    if (ours && TryLock(directory)) RemoveTree(directory);
  } catch (const Error&) {
    // It belongs to another user, or was removed meanwhile.
  }
}

// Calls RemoveIfAbandoned for all directories of memory in a tmpfs.
void RemoveAbandoned(const std::string& parent, const std::string& store_directory) {
  for (const std::string& name : ListDirectory(parent)) {
    if (name.starts_with(kMemoryPrefix)) {
      RemoveIfAbandoned(StrCat(parent, "/", name), store_directory);
    }
  }
}

// Throws Error(kDenied) if other users could rename our files in this directory. In a directory
// that others may write, only the sticky bit keeps them from it.
void CheckParent(const std::string& parent) {
  struct stat info {};
  if (::stat(parent.c_str(), &info) != 0) ThrowErrno("can't examine", parent);
  if (info.st_uid != 0 && info.st_uid != ::geteuid()) {
    Throw(ErrorCode::kDenied, parent, " belongs to user ", info.st_uid,
          ", who could replace the memory of tables there; name a tmpfs of root or of your own");
  }
  if ((info.st_mode & (S_IWGRP | S_IWOTH)) != 0 && (info.st_mode & S_ISVTX) == 0) {
    Throw(ErrorCode::kDenied, parent,
          " can be written by other users, who could replace the memory ",
          "of tables there; forbid it (chmod go-w), or protect each user's files (chmod +t)");
  }
}

// Makes the directory of new memory, and writes the file `owner` there, which names the store.
std::string MakeDirectoryIn(const std::string& parent, const std::string& nonce,
                            const std::string& store_directory) {
  std::string directory = StrCat(parent, "/", kMemoryPrefix, "XXXXXX");
  WriteToMemory(parent, [&] {
    if (::mkdtemp(directory.data()) == nullptr) {
      ThrowErrno("can't make a directory like", directory);
    }
    MemoryOwner{nonce, store_directory}.Write(directory);
  });
  return directory;
}

std::string RemedyOf(const std::string& path) {
  return StrCat("; remove ", path, " to continue with the rows as of the last write-back");
}

}  // namespace

PersistentArena::PersistentArena(MemoryName name, std::string store_directory, size_t threads,
                                 bool taken_over)
    : name_(std::move(name)),
      store_directory_(std::move(store_directory)),
      taken_over_(taken_over),
      directory_fd_(OpenOwnDirectory(directory())),
      lock_(TryLock(directory())) {
  if (!lock_) {
    Throw(ErrorCode::kExists, directory(), " is in use by another process; is a server of ",
          store_directory_, " still running?");
  }
  OpenUndoLogs(threads);
}

// Opens one undo log per thread, and all those that an earlier process used, which may have had
// more threads. The first log has the number of logs in use, unless it is damaged: then all the
// files that exist count as used.
void PersistentArena::OpenUndoLogs(size_t threads) {
  const auto path_of = [this](size_t i) { return StrCat(directory(), "/undo-", i); };
  undo_logs_.push_back(std::make_unique<UndoLog>(path_of(0), taken_over_));
  UndoLog& first = *undo_logs_[0];
  size_t used = taken_over_ ? first.group() : 0;
  if (!first.found_damage().empty()) {
    for (used = 1; FileExists(path_of(used));) used++;
  }
  const size_t count = std::max(threads, used);
  while (undo_logs_.size() < count) {
    const size_t i = undo_logs_.size();
    undo_logs_.push_back(std::make_unique<UndoLog>(path_of(i), i < used));
  }
  if (first.found_damage().empty()) first.SetGroup(count);
}

std::string PersistentArena::UndoDamage() const {
  std::vector<std::string> all;
  for (const auto& undo : undo_logs_) {
    if (!undo->found_damage().empty()) all.push_back(undo->found_damage());
  }
  return Join(all, ", ");
}

void PersistentArena::ReplaceDamagedUndoLogs() {
  for (size_t i = 0; i < undo_logs_.size(); i++) {
    std::unique_ptr<UndoLog>& undo = undo_logs_[i];
    if (undo->found_damage().empty()) continue;
    const std::string path = undo->path();
    RenameFile(path, StrCat(directory(), "/damaged-undo-", i));
    auto made = std::make_unique<UndoLog>(path, /*kept=*/false);
    made->Reserve(undo->reserved_page_bytes());
    undo = std::move(made);
  }
  undo_logs_[0]->SetGroup(undo_logs_.size());
}

std::unique_ptr<PersistentArena> PersistentArena::Make(const std::string& parent,
                                                       const std::string& store_directory,
                                                       size_t threads) {
  CheckParent(parent);
  RemoveAbandoned(parent, store_directory);
  const std::string nonce = MemoryNonce();
  const std::string directory = MakeDirectoryIn(parent, nonce, store_directory);
  return std::unique_ptr<PersistentArena>(new PersistentArena(
      MemoryName::Make(directory, nonce), store_directory, threads, /*taken_over=*/false));
}

std::unique_ptr<PersistentArena> PersistentArena::Find(const std::string& store_directory,
                                                       size_t threads, Gone* gone,
                                                       const StoreState* stored) {
  const std::string path = MemoryName::PathIn(store_directory);
  if (FileExists(path)) {
    std::optional<MemoryName> name = MemoryName::Read(path);
    if (!name) {
      Throw(ErrorCode::kVersion, path, " was written by another version of graphd, or is damaged; ",
            "start and stop that version, which moves the rows to the disk, or remove ", path,
            " to continue with the rows as of the last write-back");
    }
    return Open(*std::move(name), store_directory, threads, gone, stored);
  }
  std::optional<MemoryName> saved = MemoryName::ReadSaved(store_directory);
  std::unique_ptr<PersistentArena> arena;
  if (saved && stored != nullptr && stored->lsn == saved->lsn &&
      stored->next_id == saved->next_id) {
    try {
      Gone ignored;  // RocksDB has all rows
      arena = Open(*std::move(saved), store_directory, threads, &ignored, stored);
    } catch (const Error& error) {
      LogWarning("the memory that the last server left is not used, and its rows are read from ",
                 "the disk: ", error.what());
    }
  }
  if (arena == nullptr) RemoveLeft(store_directory);
  return arena;
}

void PersistentArena::RemoveLeft(const std::string& store_directory) {
  const std::optional<MemoryName> saved = MemoryName::ReadSaved(store_directory);
  // `memory-saved` is removed before the memory, so that it is gone even if this process ends in
  // between. If it stayed, RocksDB could later have a newer state with the same numbers, and the
  // memory would seem to have the rows of that state.
  RemoveFile(MemoryName::SavedPathIn(store_directory));
  if (saved) RemoveIfAbandoned(saved->directory, store_directory);
}

std::unique_ptr<PersistentArena> PersistentArena::Open(MemoryName name,
                                                       const std::string& store_directory,
                                                       size_t threads, Gone* gone,
                                                       const StoreState* stored) {
  const std::string path = MemoryName::PathIn(store_directory);
  const std::string& directory = name.directory;
  const auto is_gone = [&]() -> std::unique_ptr<PersistentArena> {
    *gone = {directory, name.IsOfThisTime()};
    return nullptr;
  };
  struct stat info {};
  if (::lstat(directory.c_str(), &info) != 0 && errno == ENOENT) return is_gone();
  const std::string its_memory =
      StrCat(store_directory, ": the memory of its last server, ", directory);
  std::optional<MemoryOwner> owner;
  uint64_t written = 0;
  try {
    OpenOwnDirectory(directory);
    if (!FileExists(MemoryOwner::PathIn(directory)) || !FileExists(StatePath(directory))) {
      return is_gone();
    }
    owner = MemoryOwner::Read(directory);
    OpenOwnFile(StatePath(directory), O_RDONLY);
    if (FileExists(WrittenPath(directory))) {
      written = static_cast<uint64_t>(
          ParseInt(ReadOwnText(WrittenPath(directory)), WrittenPath(directory), 0));
    }
  } catch (const Error& error) {
    Throw(error.code(), its_memory, ", can't be trusted: ", error.what(), RemedyOf(path));
  }
  if (!owner || owner->nonce != name.nonce) {
    Throw(ErrorCode::kDenied, its_memory, ", is not the one that this server made", RemedyOf(path));
  }
  if (owner->store_directory != CanonicalPath(store_directory)) {
    Throw(ErrorCode::kExists, its_memory, ", belongs to ", owner->store_directory,
          "; serve it from there, or remove ", path, " to continue with the last write-back");
  }
  if (stored != nullptr && stored->lsn < written) {
    Throw(ErrorCode::kDenied, its_memory, ", is of a later time: ", store_directory,
          " has pushes up to ", stored->lsn, ", and had those up to ", written,
          "; was it restored from a backup? Remove ", path, " to continue with it as it is");
  }
  return std::unique_ptr<PersistentArena>(
      new PersistentArena(std::move(name), store_directory, threads, /*taken_over=*/true));
}

Arena::Files PersistentArena::FilesOf(uint32_t table, bool kept) const {
  CheckInPlace();
  return {StrCat(directory(), "/table-", table), kept};
}

void PersistentArena::RemoveTablesExcept(const std::set<uint32_t>& tables) {
  CheckInPlace();
  for (const std::string& name : ListDirectory(directory())) {
    unsigned table = 0;
    if (std::sscanf(name.c_str(), "table-%u.", &table) != 1 || tables.contains(table)) continue;
    RemoveFile(StrCat(directory(), "/", name));
  }
}

void PersistentArena::ReserveUndo(uint64_t page_bytes, const std::function<void()>& make) {
  std::vector<uint64_t> before;
  for (const auto& undo : undo_logs_) before.push_back(undo->reserved_page_bytes());
  try {
    for (const auto& undo : undo_logs_) undo->Reserve(page_bytes);
    make();
  } catch (...) {
    for (size_t i = 0; i < before.size(); i++) undo_logs_[i]->Shrink(before[i]);
    throw;
  }
}

StoreState PersistentArena::ReadState() const {
  return DecodeState(ReadOwnText(StatePath(directory()), kMaxStateBytes));
}

void PersistentArena::WriteState(const StoreState& state) {
  const MutexLock lock(mutex_);
  if (state.lsn < state_lsn_) return;
  CheckInPlace();
  WriteToMemory(directory(),
                [&] { WriteFileAtomically(StatePath(directory()), EncodeState(state)); });
  state_lsn_ = state.lsn;
}

void PersistentArena::SetWritten(uint64_t lsn) {
  WriteToMemory(directory(),
                [&] { WriteFileAtomically(WrittenPath(directory()), std::to_string(lsn)); });
}

void PersistentArena::Announce() {
  const std::string path = MemoryName::PathIn(store_directory_);
  // If the file names this memory already, nothing is written, so that the store can start while
  // the disk is full.
  if (!FileExists(path) || MemoryName::Read(path) != name_) name_.Write(store_directory_);
  RemoveFile(MemoryName::SavedPathIn(store_directory_));
}

void PersistentArena::ThrowIf(const std::string& what) const {
  if (what.empty()) return;
  Throw(ErrorCode::kIo, "the memory of tables, ", directory(),
        ", is no longer in its place: ", what);
}

void PersistentArena::CheckInPlace() const {
  ThrowIf(WhatHappenedTo(directory_fd_.get(), directory()));
  ThrowIf(WhatHappenedTo(lock_.get(), MemoryOwner::PathIn(directory())));
}

void PersistentArena::CheckUndoLogs() const {
  for (const auto& undo : undo_logs_) ThrowIf(undo->Damage());
}

void PersistentArena::Forget() {
  const std::string path = MemoryName::PathIn(store_directory_);
  if (!FileExists(path)) return;
  RemoveFile(path);
  SyncDirectory(store_directory_);
}

void PersistentArena::Remove() {
  Forget();
  if (const std::string what = WhatHappenedTo(directory_fd_.get(), directory()); !what.empty()) {
    LogWarning("the memory of tables is not removed: ", what);
    return;
  }
  RemoveTree(directory());
}

void PersistentArena::Leave(const StoreState& stored) {
  name_.WriteSaved(store_directory_, stored);
  Forget();
}

}  // namespace graphd::store
