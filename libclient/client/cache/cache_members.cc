// SPDX-License-Identifier: Apache-2.0
#include "client/cache/cache_members.h"

#include <fcntl.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <optional>
#include <span>
#include <thread>
#include <vector>

#include "base/clock.h"
#include "base/directory.h"
#include "base/failure.h"
#include "base/strings.h"

namespace graphd {
namespace {

constexpr size_t kMostFileBytes = size_t{1} << 20;
constexpr auto kMostPatience = std::chrono::seconds(10);
constexpr auto kPause = std::chrono::milliseconds(1);

// A line of the file: a process, its descriptor, and the device and inode of the memory.
struct Entry {
  int64_t pid, fd, device, inode;
  std::string Text() const { return StrCat(pid, " ", fd, " ", device, " ", inode); }
};

Entry EntryOf(int fd) {
  struct stat info {};
  if (::fstat(fd, &info) != 0) ThrowErrno("can't stat", "the row cache");
  return {::getpid(), fd, static_cast<int64_t>(info.st_dev), static_cast<int64_t>(info.st_ino)};
}

// A process id identifies a process only within its pid namespace.
uint64_t PidNamespace() {
  struct stat info {};
  return ::stat("/proc/self/ns/pid", &info) == 0 ? info.st_ino : 0;
}

// Reads the file. Throws Error(kCorrupt).
std::vector<Entry> ReadEntries(int fd, const std::string& path) {
  const auto refuse = [&] {
    Throw(ErrorCode::kCorrupt, path,
          " is not a list of processes that share a row cache; remove it");
  };
  struct stat info {};
  if (::fstat(fd, &info) != 0) ThrowErrno("can't stat", path);
  if (info.st_size < 0 || static_cast<size_t>(info.st_size) > kMostFileBytes) refuse();
  std::string text(static_cast<size_t>(info.st_size), '\0');
  ReadExactly(fd, 0, std::as_writable_bytes(std::span(text)), path);
  std::vector<Entry> entries;
  for (const std::string& line : Split(text, '\n')) {
    if (line.empty()) continue;
    const std::vector<std::string> words = SplitWhitespace(line);
    if (words.size() != 4) refuse();
    try {
      entries.push_back({ParseInt(words[0], path, 1, INT32_MAX),
                         ParseInt(words[1], path, 0, INT32_MAX), ParseInt(words[2], path, 0),
                         ParseInt(words[3], path, 0)});
    } catch (const Error&) {
      refuse();
    }
  }
  return entries;
}

// Unlocks explicitly when destroyed: a child that was forked meanwhile has the descriptor too, and
// closing it here alone would leave the file locked.
class Unlock {
 public:
  explicit Unlock(int fd) : fd_(fd) {}
  ~Unlock() { ::flock(fd_, LOCK_UN); }
  Unlock(const Unlock&) = delete;
  Unlock& operator=(const Unlock&) = delete;

 private:
  const int fd_;
};

// The file, under its lock.
class LockedFile {
 public:
  explicit LockedFile(const std::string& path) : path_(path) {
    const auto start = Clock::now();
    for (;;) {
      fd_ = OpenOwnFile(path, O_RDWR | O_CREAT, 0600);
      while (::flock(fd_.get(), LOCK_EX | LOCK_NB) != 0) {
        if (errno != EWOULDBLOCK && errno != EINTR) ThrowErrno("can't lock", path);
        if (Clock::now() - start > kMostPatience) {
          Throw(ErrorCode::kUnavailable, "another process keeps ", path,
                " locked for 10 s; find it with `fuser ", path, "`, or run without a row cache ",
                "(GRAPHD_ROW_CACHE, --row_cache)");
        }
        std::this_thread::sleep_for(kPause);
      }
      // The last member may have removed the file meanwhile.
      if (WhatHappenedTo(fd_.get(), path).empty()) break;
    }
    unlock_.emplace(fd_.get());
  }
  LockedFile(const LockedFile&) = delete;
  LockedFile& operator=(const LockedFile&) = delete;

  std::vector<Entry> Read() const { return ReadEntries(fd_.get(), path_); }
  // Replaces the entries. The file keeps the old ones if there is no memory for the new ones.
  void Write(const std::vector<Entry>& entries) const {
    std::string text;
    for (const Entry& entry : entries) text += entry.Text() + "\n";
    const size_t size = text.size();
    struct stat info {};
    if (::fstat(fd_.get(), &info) != 0) ThrowErrno("can't stat", path_);
    // Empty lines, which are skipped, replace the rest of the old entries until they are cut off.
    text.resize(std::max(size, static_cast<size_t>(info.st_size)), '\n');
    if (::fallocate(fd_.get(), FALLOC_FL_KEEP_SIZE, 0, static_cast<off_t>(text.size())) != 0 &&
        errno != EOPNOTSUPP) {
      ThrowErrno("can't write", path_);
    }
    WriteExactlyAt(fd_.get(), 0, std::as_bytes(std::span(text)), path_);
    if (::ftruncate(fd_.get(), static_cast<off_t>(size)) != 0) ThrowErrno("can't write", path_);
  }

 private:
  std::string path_;
  UniqueFd fd_;
  std::optional<Unlock> unlock_;
};

// Opens the memory of a member. Returns nothing if the process has ended or has left.
UniqueFd OpenMemoryOf(const Entry& entry) {
  const std::string path = StrCat("/proc/", entry.pid, "/fd/", entry.fd);
  const auto is_memory = [&](const struct stat& info) {
    return static_cast<int64_t>(info.st_dev) == entry.device &&
           static_cast<int64_t>(info.st_ino) == entry.inode;
  };
  struct stat info {};
  UniqueFd fd;
  // The process id of a killed member may now be that of another process. Its file with this
  // descriptor number may be a terminal or a FIFO, and opening such a file could have effects.
  if (::stat(path.c_str(), &info) == 0) {
    if (!is_memory(info)) return {};
    fd.reset(::open(path.c_str(), O_RDWR | O_CLOEXEC | O_NOCTTY | O_NONBLOCK));
  }
  if (fd) {
    if (::fstat(fd.get(), &info) != 0 || !is_memory(info)) return {};
    return fd;
  }
  const int reason = errno;
  if (reason == ENOENT || reason == ESRCH || reason == ENXIO) return {};
  // The id may also be that of another user's process now.
  if (::stat(StrCat("/proc/", entry.pid).c_str(), &info) != 0 || info.st_uid != ::geteuid()) {
    return {};
  }
  errno = reason;
  ThrowErrno("can't share the row cache of process " + std::to_string(entry.pid) +
                 " (run without one: GRAPHD_ROW_CACHE, --row_cache); can't open",
             path);
}

LockedFile Lock(const std::string& path) {
  try {
    return LockedFile(path);
  } catch (const Error& error) {
    if (error.code() != ErrorCode::kDenied) throw;
    Throw(ErrorCode::kDenied, error.what(), "; the row cache needs this file for itself: remove ",
          "it, or run without a cache (GRAPHD_ROW_CACHE, --row_cache)");
  }
}

// Removes files whose members were all killed. The next process tries again to remove files that
// can't be removed now. Members of other pid namespaces, whose files have another suffix, can't be
// seen from here.
void RemoveAbandoned(const std::string& directory, const std::string& prefix,
                     const std::string& suffix, const std::string& except) {
  constexpr size_t kMost = 64;
  size_t seen = 0;
  for (const std::string& name : ListDirectory(directory)) {
    const std::string path = StrCat(directory, "/", name);
    if (!name.starts_with(prefix) || !name.ends_with(suffix) || path == except) continue;
    if (++seen > kMost) return;
    try {
      const UniqueFd fd = OpenOwnFile(path, O_RDWR);
      if (::flock(fd.get(), LOCK_EX | LOCK_NB) != 0) continue;
      const Unlock unlock(fd.get());
      if (!WhatHappenedTo(fd.get(), path).empty()) continue;
      const std::vector<Entry> entries = ReadEntries(fd.get(), path);
      if (std::ranges::none_of(
              entries, [](const Entry& entry) { return static_cast<bool>(OpenMemoryOf(entry)); })) {
        RemoveFile(path);
      }
    } catch (const Error&) {
    }
  }
}

}  // namespace

CacheMembers::CacheMembers(const std::string& directory, const CacheShape& shape) {
  const std::string prefix = StrCat("graphd-rows-", ::geteuid(), "-");
  const std::string suffix = StrCat("-", std::hex, PidNamespace());
  path_ = StrCat(directory, "/", prefix, std::hex, shape.key, suffix);
  RemoveAbandoned(directory, prefix, suffix, path_);
  const LockedFile file = Lock(path_);
  std::vector<Entry> living;
  for (const Entry& entry : file.Read()) {
    UniqueFd fd = OpenMemoryOf(entry);
    if (!fd) continue;
    living.push_back(entry);
    if (memory_ != nullptr) continue;
    memory_ = std::make_unique<CacheMemory>(std::move(fd), shape, StrCat("process ", entry.pid));
  }
  if (memory_ == nullptr) memory_ = std::make_unique<CacheMemory>(shape);
  memory_->HideFromChildren();
  living.push_back(EntryOf(memory_->fd()));
  entry_ = living.back().Text();
  file.Write(living);
}

CacheMembers::~CacheMembers() {
  LogFailure("leaving the processes that share a row cache", [&] {
    const LockedFile file(path_);
    std::vector<Entry> others;
    for (const Entry& entry : file.Read()) {
      if (entry.Text() != entry_ && OpenMemoryOf(entry)) others.push_back(entry);
    }
    if (others.empty()) return RemoveFile(path_);
    file.Write(others);
  });
}

}  // namespace graphd
