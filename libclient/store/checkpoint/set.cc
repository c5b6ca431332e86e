// SPDX-License-Identifier: Apache-2.0
#include "store/checkpoint/set.h"

#include <fcntl.h>
#include <stdio.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <filesystem>

#include "base/directory.h"
#include "base/failure.h"
#include "base/log.h"
#include "base/strings.h"
#include "base/threads/watched_thread.h"
#include "store/checkpoint/checksums.h"

namespace graphd::store {
namespace {

namespace fs = std::filesystem;

constexpr size_t kKeptOpen = 4;
constexpr const char* kManifestFile = "manifest.json";
constexpr const char* kIdFile = "id";
constexpr const char* kDataDirectory = "data/";
constexpr const char* kFilesDirectory = "files/";
const std::string kPartial = ".partial-", kDeleted = ".deleted-";

// Removes a directory. If that fails, it is tried again at the next start.
void RemoveAll(const std::string& path) noexcept {
  LogFailure("a checkpoint", [&] { RemoveTree(path); });
}

[[noreturn]] void ThrowWriting(const std::string& path) {
  if (errno == ENOSPC || errno == EDQUOT) {
    Throw(ErrorCode::kOverloaded, "no space on the disk for ", path);
  }
  ThrowErrno("can't write", path);
}

uint64_t BytesIn(const std::string& directory) {
  uint64_t sum = 0;
  std::error_code error;
  for (fs::recursive_directory_iterator it(directory, error), end; !error && it != end;
       it.increment(error)) {
    std::error_code ignored;
    if (it->is_regular_file(ignored)) sum += it->file_size(ignored);
  }
  return sum;
}

}  // namespace

void CheckCheckpointName(const std::string& name) {
  const bool good = std::all_of(name.begin(), name.end(), [](char c) {
    return (c >= 'A' && c <= 'Z') || (c >= 'a' && c <= 'z') || (c >= '0' && c <= '9') || c == '.' ||
           c == '_' || c == '-';
  });
  if (!good || name.empty() || name.size() > kMaxCheckpointName || name[0] == '.') {
    Throw(ErrorCode::kInvalid, "a checkpoint's name is 1 to ", kMaxCheckpointName,
          " of A-Z a-z 0-9 . _ -, not beginning with '.'; '", name.substr(0, kMaxCheckpointName),
          "' is not");
  }
}

void CheckKeptFileName(const std::string& name) {
  const bool good = std::all_of(name.begin(), name.end(), [](char c) {
    return static_cast<unsigned char>(c) >= 32 && c != 127 && c != '/';
  });
  if (!good || name.empty() || name.size() > kMaxKeptFileName || name == "." || name == "..") {
    Throw(ErrorCode::kInvalid, "a file's name in a checkpoint is 1 to ", kMaxKeptFileName,
          " bytes without '/' and control characters");
  }
}

CheckpointSet::CheckpointSet(std::string root, Role role) : root_(std::move(root)) {
  if (role == Role::kGuest) return;
  MakeDirectories(root_);
  SyncDirectory(DirName(root_));
  for (const std::string& name : ListDirectory(root_)) {
    if (name.starts_with(kPartial) || name.starts_with(kDeleted)) RemoveAll(PathOf(name));
  }
}

CheckpointSet::Making::Making(CheckpointSet& set, std::string name, std::string id)
    : set_(set),
      name_(std::move(name)),
      id_(std::move(id)),
      directory_(set.PathOf(kPartial + name_)) {}

CheckpointSet::Making::~Making() {
  if (!committed_) RemoveAll(directory_);
  const MutexLock lock(set_.mutex_);
  set_.making_.erase(name_);
}

void CheckpointSet::Making::AddFile(const std::string& file, uint64_t offset,
                                    std::span<const std::byte> data) {
  CheckKeptFileName(file);
  const auto known = sizes_.find(file);
  const uint64_t size = known == sizes_.end() ? 0 : known->second;
  if (offset != size) {
    Throw(ErrorCode::kInvalid, "file '", file, "' has ", size, " bytes so far, not ", offset);
  }
  if (known == sizes_.end() && sizes_.size() >= kMaxFiles) {
    Throw(ErrorCode::kOverloaded, "a checkpoint keeps at most ", kMaxFiles, " files");
  }
  if (data.size() > kMaxFileBytes - size) {
    Throw(ErrorCode::kOverloaded, "file '", file, "' has more than ", HumanBytes(kMaxFileBytes),
          ", the most that a checkpoint keeps in one file");
  }
  const std::string path = StrCat(directory_, "/files/", file);
  const UniqueFd fd = OpenFile(path, O_WRONLY | O_CREAT | O_NOFOLLOW, 0600);
  for (size_t done = 0; done < data.size();) {
    const ssize_t put = ::pwrite(fd.get(), data.data() + done, data.size() - done,
                                 static_cast<off_t>(offset + done));
    if (put < 0 && errno == EINTR) continue;
    if (put < 0) ThrowWriting(path);
    WatchedThread::CountProgress();
    done += static_cast<size_t>(put);
  }
  sizes_[file] = size + data.size();
}

uint64_t CheckpointSet::Making::Bytes() const { return BytesIn(directory_); }

void CheckpointSet::Making::Commit(const std::string& manifest) {
  if (manifest.size() > kMaxManifest) {
    Throw(ErrorCode::kInvalid, "a checkpoint's manifest has more than ", HumanBytes(kMaxManifest),
          ", the most that is kept");
  }
  for (const auto& [file, size] : sizes_) {
    const std::string path = StrCat(directory_, "/files/", file);
    Sync(OpenFile(path, O_RDONLY).get(), path);
  }
  SyncDirectory(directory_ + "/files");
  WriteFileAtomically(StrCat(directory_, "/", kIdFile), id_);
  if (!manifest.empty()) WriteFileAtomically(StrCat(directory_, "/", kManifestFile), manifest);
  WriteSums(directory_, CheckpointPagesPath(data_directory()));
  SyncDirectory(directory_);
  const std::string path = set_.PathOf(name_);
  if (::renameat2(AT_FDCWD, directory_.c_str(), AT_FDCWD, path.c_str(), RENAME_NOREPLACE) != 0) {
    ThrowErrno("can't rename to", path);
  }
  committed_ = true;
  SyncDirectory(set_.root_);
}

std::unique_ptr<CheckpointSet::Making> CheckpointSet::Begin(const std::string& name,
                                                            const std::string& id) {
  CheckCheckpointName(name);
  if (id.size() > kMaxId) {
    Throw(ErrorCode::kInvalid, "a checkpoint's id has more than ", kMaxId, " bytes");
  }
  {
    const MutexLock lock(mutex_);
    if (FileExists(PathOf(name))) {
      Throw(ErrorCode::kExists, "there is a checkpoint '", name,
            "' already; choose another name, or delete it");
    }
    if (!making_.insert(name).second) {
      Throw(ErrorCode::kExists, "a checkpoint '", name, "' is being made already");
    }
  }
  std::unique_ptr<Making> making;
  try {
    making.reset(new Making(*this, name, id));
  } catch (...) {
    const MutexLock lock(mutex_);
    making_.erase(name);
    throw;
  }
  RemoveAll(making->directory_);
  MakeDirectories(making->directory_ + "/files");
  return making;
}

std::vector<std::string> CheckpointSet::Names() const {
  std::vector<std::string> names = ListDirectory(root_);
  std::erase_if(names, [](const std::string& name) { return name.starts_with('.'); });
  return names;
}

std::optional<CheckpointSet::Entry> CheckpointSet::Describe(const std::string& name) const {
  Entry entry;
  entry.name = name;
  try {
    const CheckpointChecksums sums(PathOf(name));
    for (const char* const file : {kIdFile, kManifestFile, "data/tables.json"}) sums.Verify(file);
    entry.id = ReadTextFile(StrCat(PathOf(name), "/", kIdFile));
    const std::string manifest = StrCat(PathOf(name), "/", kManifestFile);
    if (FileExists(manifest)) entry.manifest = ReadTextFile(manifest);
    entry.tables = ReadCheckpointSpecs(PathOf(name) + "/data");
  } catch (const Error& error) {
    if (!FileExists(PathOf(name))) return {};
    entry = {};
    entry.name = name;
    entry.trouble = error.what();
  }
  entry.bytes = BytesIn(PathOf(name));
  return entry;
}

void CheckpointSet::CheckThere(const std::string& name) const {
  CheckCheckpointName(name);
  if (FileExists(PathOf(name))) return;
  const std::vector<std::string> names = Names();
  Throw(ErrorCode::kNotFound, "there is no checkpoint '", name, "'; there ",
        names.empty() ? "are none" : (names.size() == 1 ? "is " : "are ") + Join(names, ", "));
}

std::shared_ptr<const CheckpointReader> CheckpointSet::Open(const std::string& name) {
  CheckThere(name);
  // The id is part of the key, because another process may have replaced the checkpoint.
  const std::string key = StrCat(name, "\n", ReadTextFile(StrCat(PathOf(name), "/", kIdFile)));
  {
    const MutexLock lock(mutex_);
    const auto found = std::find_if(open_.begin(), open_.end(),
                                    [&](const auto& each) { return each.first == key; });
    if (found != open_.end()) {
      open_.splice(open_.begin(), open_, found);
      return found->second;
    }
  }
  // The mutex is not held here, because verification may take long.
  CheckpointChecksums(PathOf(name)).VerifyAll(kDataDirectory);
  auto reader = std::make_shared<CheckpointReader>(PathOf(name) + "/data");
  const MutexLock lock(mutex_);
  open_.emplace_front(key, reader);
  if (open_.size() > kKeptOpen) open_.pop_back();
  return reader;
}

std::vector<std::byte> CheckpointSet::ReadFile(const std::string& name, const std::string& file,
                                               uint64_t offset, uint64_t count) const {
  CheckThere(name);
  CheckKeptFileName(file);
  const std::string path = StrCat(PathOf(name), "/files/", file);
  if (offset == 0) CheckpointChecksums(PathOf(name)).Verify(kFilesDirectory + file);
  if (!FileExists(path)) {
    Throw(ErrorCode::kNotFound, "checkpoint '", name, "' has no file '", file, "'");
  }
  const UniqueFd fd = OpenFile(path, O_RDONLY | O_NOFOLLOW);
  const uint64_t size = FileSize(path);
  const uint64_t begin = std::min(offset, size);
  std::vector<std::byte> data(std::min(count, size - begin));
  ReadExactly(fd.get(), begin, data, path);
  return data;
}

bool CheckpointSet::HasFile(const std::string& name, const std::string& file) const {
  CheckKeptFileName(file);
  return FileExists(StrCat(PathOf(name), "/files/", file));
}

void CheckpointSet::Delete(const std::string& name) {
  const MutexLock lock(mutex_);
  CheckThere(name);
  open_.remove_if([&](const auto& each) { return each.first.starts_with(name + "\n"); });
  const std::string deleted = PathOf(kDeleted + name);
  RemoveAll(deleted);
  if (::rename(PathOf(name).c_str(), deleted.c_str()) != 0)
    ThrowErrno("can't rename", PathOf(name));
  SyncDirectory(root_);
  RemoveAll(deleted);
}

}  // namespace graphd::store
