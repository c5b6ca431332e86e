// SPDX-License-Identifier: Apache-2.0
#include "store/persistent_arena.h"

#include <fcntl.h>
#include <stdlib.h>
#include <sys/file.h>

#include <cerrno>
#include <filesystem>

#include "base/strings.h"
#include "store/rows/memory_dir.h"

namespace graphd::store {
namespace {

namespace fs = std::filesystem;

constexpr const char* kPrefix = "graphd-";

std::string NamePath(const std::string& store_directory) { return store_directory + "/memory"; }
std::string OwnerPath(const std::string& directory) { return directory + "/owner"; }
std::string StatePath(const std::string& directory) { return directory + "/state"; }

// Returns no descriptor if another process has the lock.
UniqueFd TryLock(const std::string& directory) {
  UniqueFd fd = OpenFile(OwnerPath(directory), O_RDONLY);
  if (::flock(fd.get(), LOCK_EX | LOCK_NB) != 0) {
    if (errno != EWOULDBLOCK) ThrowErrno("can't lock", OwnerPath(directory));
    return {};
  }
  return fd;
}

bool IsOf(const std::string& directory, const std::string& store_directory) {
  const std::string path = OwnerPath(directory);
  return FileExists(path) && ReadTextFile(path) == fs::canonical(store_directory).string();
}

// Runs f; adds a remedy to its error when the tmpfs that holds `path` is full.
template <class F>
void WriteToMemory(const std::string& path, const F& f) {
  try {
    f();
  } catch (const Error& error) {
    if (error.code() != ErrorCode::kOverloaded) throw;
    Throw(error.code(), error.what(), ": ", FullMemoryDir(path));
  }
}

void RemoveWhole(const std::string& directory) {
  std::error_code error;
  fs::remove_all(directory, error);
  if (error) {
    Throw(ErrorCode::kIo, "can't remove ", directory, ": ", error.message());
  }
}

// Removes the directories of ended processes of the store.
void RemoveAbandoned(const std::string& parent, const std::string& store_directory) {
  for (const auto& entry : fs::directory_iterator(parent)) {
    const std::string path = entry.path();
    if (!entry.path().filename().string().starts_with(kPrefix)) continue;
    try {
      if (IsOf(path, store_directory) && TryLock(path)) RemoveWhole(path);
    } catch (const Error&) {
      // It belongs to another user, or was removed meanwhile.
    }
  }
}

}  // namespace

PersistentArena::PersistentArena(std::string directory, std::string store_directory, size_t threads,
                                 bool kept)
    : directory_(std::move(directory)),
      store_directory_(std::move(store_directory)),
      kept_(kept),
      lock_(TryLock(directory_)) {
  if (!lock_) {
    Throw(ErrorCode::kExists, directory_, " is in use by another process; is a server of ",
          store_directory_, " still running?");
  }
  // Open all that an earlier process left, which may have had more threads.
  for (size_t i = 0; i < threads || FileExists(StrCat(directory_, "/undo-", i)); i++) {
    undo_logs_.push_back(std::make_unique<UndoLog>(StrCat(directory_, "/undo-", i)));
  }
}

std::unique_ptr<PersistentArena> PersistentArena::Make(const std::string& parent,
                                                       const std::string& store_directory,
                                                       size_t threads) {
  RemoveAbandoned(parent, store_directory);
  std::string directory = StrCat(parent, "/", kPrefix, "XXXXXX");
  WriteToMemory(parent, [&] {
    if (::mkdtemp(directory.data()) == nullptr) {
      ThrowErrno("can't make a directory like", directory);
    }
    WriteFileAtomically(OwnerPath(directory), fs::canonical(store_directory).string());
  });
  return std::unique_ptr<PersistentArena>(
      new PersistentArena(directory, store_directory, threads, /*kept=*/false));
}

std::unique_ptr<PersistentArena> PersistentArena::Find(const std::string& store_directory,
                                                       size_t threads, std::string* gone) {
  const std::string name = NamePath(store_directory);
  if (!FileExists(name)) return nullptr;
  const std::string directory = ReadTextFile(name);
  if (!FileExists(OwnerPath(directory)) || !FileExists(StatePath(directory))) {
    *gone = directory;
    return nullptr;
  }
  if (!IsOf(directory, store_directory)) {
    Throw(ErrorCode::kExists, store_directory, ": the memory of its last server, ", directory,
          ", belongs to ", ReadTextFile(OwnerPath(directory)), "; serve it from there, or remove ",
          name, " to continue with the last write-back");
  }
  return std::unique_ptr<PersistentArena>(
      new PersistentArena(directory, store_directory, threads, /*kept=*/true));
}

Arena::Files PersistentArena::FilesOf(uint32_t table, bool kept) const {
  return {StrCat(directory_, "/table-", table), kept};
}

void PersistentArena::RemoveTable(uint32_t table) {
  const std::string prefix = StrCat("table-", table, ".");
  for (const auto& entry : fs::directory_iterator(directory_)) {
    if (entry.path().filename().string().starts_with(prefix)) RemoveWhole(entry.path());
  }
}

void PersistentArena::ReserveUndo(uint64_t page_bytes) {
  for (const auto& undo : undo_logs_) undo->Reserve(page_bytes);
}

StoreState PersistentArena::ReadState() const {
  return DecodeState(ReadTextFile(StatePath(directory_)));
}

void PersistentArena::WriteState(const StoreState& state) {
  const MutexLock lock(mutex_);
  if (state.lsn < state_lsn_) return;
  WriteToMemory(directory_,
                [&] { WriteFileAtomically(StatePath(directory_), EncodeState(state)); });
  state_lsn_ = state.lsn;
}

void PersistentArena::Announce() { WriteFileAtomically(NamePath(store_directory_), directory_); }

void PersistentArena::Remove() {
  RemoveWhole(NamePath(store_directory_));
  SyncDirectory(store_directory_);
  RemoveWhole(directory_);
}

}  // namespace graphd::store
