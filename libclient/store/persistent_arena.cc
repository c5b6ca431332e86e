// SPDX-License-Identifier: Apache-2.0
#include "store/persistent_arena.h"

#include <fcntl.h>
#include <stdlib.h>
#include <sys/file.h>
#include <sys/random.h>
#include <sys/stat.h>
#include <sys/statfs.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdio>
#include <cstring>
#include <optional>

#include "base/directory.h"
#include "base/log.h"
#include "base/strings.h"
#include "store/rows/memory_dir.h"

namespace graphd::store {
namespace {

constexpr const char* kPrefix = "graphd-";
constexpr const char* kVersion = "graphd-memory 1";
constexpr size_t kMaxText = 65536;

std::string NamePath(const std::string& store_directory) { return store_directory + "/memory"; }
std::string OwnerPath(const std::string& directory) { return directory + "/owner"; }
std::string StatePath(const std::string& directory) { return directory + "/state"; }

// The contents of the file `owner`.
struct Owner {
  std::string nonce, store_directory;
};

// The contents of the file `memory` in the store's directory.
struct Name {
  std::string directory, nonce, tmpfs;
};

std::string RandomNumber() {
  uint64_t numbers[2];
  if (::getrandom(numbers, sizeof numbers, 0) != sizeof numbers) {
    ThrowErrno("can't draw a number for", "the memory of tables");
  }
  char text[33];
  std::snprintf(text, sizeof text, "%016lx%016lx", numbers[0], numbers[1]);
  return text;
}

// Returns a text that differs between this tmpfs and another one that is mounted in its place, or
// after a restart of the machine.
std::string TmpfsOf(const std::string& path) {
  struct statfs status {};
  if (::statfs(path.c_str(), &status) != 0) ThrowErrno("can't examine", path);
  uint64_t id = 0;
  static_assert(sizeof id == sizeof status.f_fsid);
  std::memcpy(&id, &status.f_fsid, sizeof id);
  // Procfs files have no size.
  std::string boot(64, '\0');
  const UniqueFd fd = OpenFile("/proc/sys/kernel/random/boot_id", O_RDONLY);
  const ssize_t got = ::read(fd.get(), boot.data(), boot.size());
  boot.resize(got > 0 ? static_cast<size_t>(got) : 0);
  return StrCat(Trim(boot), "-", id);
}

std::string ReadOwnText(const std::string& path) {
  OpenOwnFile(path, O_RDONLY);
  return ReadTextFile(path, kMaxText);
}

std::string EncodeOwner(const Owner& owner) {
  return StrCat(kVersion, "\n", owner.nonce, "\n", owner.store_directory);
}

// Returns nothing if the file is of another version.
std::optional<Owner> ReadOwner(const std::string& directory) {
  const std::string text = ReadOwnText(OwnerPath(directory));
  const size_t first = text.find('\n');
  const size_t second = first == text.npos ? text.npos : text.find('\n', first + 1);
  if (second == text.npos || text.substr(0, first) != kVersion) return {};
  return Owner{text.substr(first + 1, second - first - 1), text.substr(second + 1)};
}

std::optional<Name> ReadName(const std::string& store_directory) {
  const std::vector<std::string> lines =
      Split(ReadTextFile(NamePath(store_directory), kMaxText), '\n');
  if (lines.size() != 4 || lines[0] != kVersion) return {};
  return Name{lines[1], lines[2], lines[3]};
}

// Returns no descriptor if another process has the lock.
UniqueFd TryLock(const std::string& directory) {
  UniqueFd fd = OpenOwnFile(OwnerPath(directory), O_RDONLY);
  if (::flock(fd.get(), LOCK_EX | LOCK_NB) != 0) {
    if (errno != EWOULDBLOCK) ThrowErrno("can't lock", OwnerPath(directory));
    return {};
  }
  return fd;
}

// Runs f; adds a remedy to its error when the tmpfs that holds `path` is full.
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

// Removes the directories of ended processes of the store.
void RemoveAbandoned(const std::string& parent, const std::string& store_directory) {
  for (const std::string& name : ListDirectory(parent)) {
    const std::string path = StrCat(parent, "/", name);
    if (!name.starts_with(kPrefix)) continue;
    try {
      OpenOwnDirectory(path);
      const std::optional<Owner> owner = ReadOwner(path);
      const bool ours = owner && owner->store_directory == CanonicalPath(store_directory);
      if (ours && TryLock(path)) RemoveTree(path);
    } catch (const Error&) {
      // It belongs to another user, or was removed meanwhile.
    }
  }
}

// In a directory that others may write, only the sticky bit keeps them from renaming our files.
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

}  // namespace

PersistentArena::PersistentArena(std::string directory, std::string store_directory,
                                 std::string nonce, size_t threads, bool kept)
    : directory_(std::move(directory)),
      store_directory_(std::move(store_directory)),
      nonce_(std::move(nonce)),
      kept_(kept),
      directory_fd_(OpenOwnDirectory(directory_)),
      lock_(TryLock(directory_)) {
  if (!lock_) {
    Throw(ErrorCode::kExists, directory_, " is in use by another process; is a server of ",
          store_directory_, " still running?");
  }
  OpenUndoLogs(threads);
}

// Opens all undo logs that an earlier process left, which may have had more threads. The first one
// says how many there are; a log beyond that was never used.
void PersistentArena::OpenUndoLogs(size_t threads) {
  const auto path_of = [this](size_t i) { return StrCat(directory_, "/undo-", i); };
  undo_logs_.push_back(std::make_unique<UndoLog>(path_of(0), kept_));
  UndoLog& first = *undo_logs_[0];
  size_t used = kept_ ? first.group() : 0;
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
    RenameFile(path, StrCat(directory_, "/damaged-undo-", i));
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
  const std::string nonce = RandomNumber();
  std::string directory = StrCat(parent, "/", kPrefix, "XXXXXX");
  WriteToMemory(parent, [&] {
    if (::mkdtemp(directory.data()) == nullptr) {
      ThrowErrno("can't make a directory like", directory);
    }
    WriteFileAtomically(OwnerPath(directory), EncodeOwner({nonce, CanonicalPath(store_directory)}));
  });
  return std::unique_ptr<PersistentArena>(
      new PersistentArena(directory, store_directory, nonce, threads, /*kept=*/false));
}

std::unique_ptr<PersistentArena> PersistentArena::Find(const std::string& store_directory,
                                                       size_t threads, Gone* gone) {
  const std::string path = NamePath(store_directory);
  if (!FileExists(path)) return nullptr;
  const std::string remedy =
      StrCat("; remove ", path, " to continue with the rows as of the last write-back");
  const std::optional<Name> name = ReadName(store_directory);
  if (!name) {
    Throw(ErrorCode::kVersion, path, " was written by another version of graphd, or is damaged; ",
          "start and stop that version, which moves the rows to the disk", remedy);
  }
  const std::string& directory = name->directory;
  const auto is_gone = [&]() -> std::unique_ptr<PersistentArena> {
    const std::string parent = DirName(directory);
    *gone = {directory, FileExists(parent) && TmpfsOf(parent) == name->tmpfs};
    return nullptr;
  };
  struct stat info {};
  if (::lstat(directory.c_str(), &info) != 0 && errno == ENOENT) return is_gone();
  const std::string its_memory =
      StrCat(store_directory, ": the memory of its last server, ", directory);
  std::optional<Owner> owner;
  try {
    OpenOwnDirectory(directory);
    if (!FileExists(OwnerPath(directory)) || !FileExists(StatePath(directory))) return is_gone();
    owner = ReadOwner(directory);
    OpenOwnFile(StatePath(directory), O_RDONLY);
  } catch (const Error& error) {
    Throw(error.code(), its_memory, ", can't be trusted: ", error.what(), remedy);
  }
  if (!owner || owner->nonce != name->nonce) {
    Throw(ErrorCode::kDenied, its_memory, ", is not the one that this server made", remedy);
  }
  if (owner->store_directory != CanonicalPath(store_directory)) {
    Throw(ErrorCode::kExists, its_memory, ", belongs to ", owner->store_directory,
          "; serve it from there, or remove ", path, " to continue with the last write-back");
  }
  return std::unique_ptr<PersistentArena>(
      new PersistentArena(directory, store_directory, name->nonce, threads, /*kept=*/true));
}

Arena::Files PersistentArena::FilesOf(uint32_t table, bool kept) const {
  CheckInPlace();
  return {StrCat(directory_, "/table-", table), kept};
}

void PersistentArena::RemoveTable(uint32_t table) {
  const std::string prefix = StrCat("table-", table, ".");
  CheckInPlace();
  for (const std::string& name : ListDirectory(directory_)) {
    if (name.starts_with(prefix)) RemoveFile(StrCat(directory_, "/", name));
  }
}

void PersistentArena::ReserveUndo(uint64_t page_bytes) {
  for (const auto& undo : undo_logs_) undo->Reserve(page_bytes);
}

StoreState PersistentArena::ReadState() const {
  return DecodeState(ReadOwnText(StatePath(directory_)));
}

void PersistentArena::WriteState(const StoreState& state) {
  const MutexLock lock(mutex_);
  if (state.lsn < state_lsn_) return;
  CheckInPlace();
  WriteToMemory(directory_,
                [&] { WriteFileAtomically(StatePath(directory_), EncodeState(state)); });
  state_lsn_ = state.lsn;
}

void PersistentArena::Announce() {
  WriteFileAtomically(NamePath(store_directory_),
                      StrCat(kVersion, "\n", directory_, "\n", nonce_, "\n", TmpfsOf(directory_)));
}

void PersistentArena::ThrowIf(const std::string& what) const {
  if (what.empty()) return;
  Throw(ErrorCode::kIo, "the memory of tables, ", directory_,
        ", is no longer in its place: ", what);
}

void PersistentArena::CheckInPlace() const {
  ThrowIf(WhatHappenedTo(directory_fd_.get(), directory_));
  ThrowIf(WhatHappenedTo(lock_.get(), OwnerPath(directory_)));
}

void PersistentArena::CheckUndoLogs() const {
  for (const auto& undo : undo_logs_) ThrowIf(undo->Damage());
}

void PersistentArena::Forget() {
  if (!FileExists(NamePath(store_directory_))) return;
  RemoveFile(NamePath(store_directory_));
  SyncDirectory(store_directory_);
}

void PersistentArena::Remove() {
  Forget();
  if (const std::string what = WhatHappenedTo(directory_fd_.get(), directory_); !what.empty()) {
    LogWarning("the memory of tables is not removed: ", what);
    return;
  }
  RemoveTree(directory_);
}

}  // namespace graphd::store
