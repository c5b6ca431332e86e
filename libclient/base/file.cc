// SPDX-License-Identifier: Apache-2.0
#include "base/file.h"

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <filesystem>

#include "base/failure.h"
#include "base/strings.h"
#include "base/threads/watched_thread.h"

namespace graphd {
namespace {

// The maximum number of bytes per system call. It is small enough that a call ends soon even on a
// slow disk, and the thread counts progress (WatchedThread).
constexpr size_t kMostPerCall = size_t{64} << 20;

}  // namespace

void ThrowErrno(const std::string& what, const std::string& path) {
  const int error = errno;
  Throw(ErrorCodeOfErrno(error), what, " ", path, ": ", std::strerror(error));
}

void UniqueFd::reset(int fd) noexcept {
  if (fd_ >= 0) ::close(fd_);
  fd_ = fd;
}

UniqueFd OpenFile(const std::string& path, int flags, unsigned mode) {
  int fd;
  do {
    fd = ::open(path.c_str(), flags | O_CLOEXEC, static_cast<mode_t>(mode));
  } while (fd < 0 && errno == EINTR);
  if (fd < 0) ThrowErrno("can't open", path);
  return UniqueFd(fd);
}

uint64_t FileSize(const std::string& path) {
  struct stat info {};
  if (::stat(path.c_str(), &info) != 0) ThrowErrno("can't stat", path);
  if (!S_ISREG(info.st_mode)) Throw(ErrorCode::kInvalid, path, " is not a regular file");
  return static_cast<uint64_t>(info.st_size);
}

bool FileExists(const std::string& path) noexcept { return ::access(path.c_str(), F_OK) == 0; }

std::string ReadTextFile(const std::string& path, size_t max_bytes) {
  const uint64_t size = FileSize(path);
  if (size > max_bytes) {
    Throw(ErrorCode::kInvalid, path, " has ", HumanBytes(size), ", expected at most ",
          HumanBytes(max_bytes));
  }
  UniqueFd fd = OpenFile(path, O_RDONLY);
  std::string text(size, '\0');
  ReadExactly(fd.get(), 0, std::as_writable_bytes(std::span(text)), path);
  return text;
}

void WriteFileAtomically(const std::string& path, std::string_view text) {
  const std::string temporary = path + ".tmp" + std::to_string(::getpid());
  // Somebody who may write to the directory may have made a link with this name, which anybody can
  // guess. A process with the same number may also have left a file.
  ::unlink(temporary.c_str());
  UniqueFd fd = OpenFile(temporary, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW);
  try {
    WriteExactly(fd.get(), std::as_bytes(std::span(text)), temporary);
    Sync(fd.get(), temporary);
    if (::rename(temporary.c_str(), path.c_str()) != 0) ThrowErrno("can't rename to", path);
  } catch (...) {
    ::unlink(temporary.c_str());
    throw;
  }
}

void MakeDirectories(const std::string& path) {
  std::error_code error;
  std::filesystem::create_directories(path, error);
  if (error) {
    errno = error.value();
    ThrowErrno("can't create directory", path);
  }
}

void ReadExactly(int fd, uint64_t offset, std::span<std::byte> out, const std::string& path) {
  size_t done = 0;
  while (done < out.size()) {
    ssize_t got = ::pread(fd, out.data() + done, std::min(out.size() - done, kMostPerCall),
                          static_cast<off_t>(offset + done));
    if (got < 0 && errno == EINTR) continue;
    if (got < 0) ThrowErrno("can't read", path);
    if (got == 0) {
      Throw(ErrorCode::kCorrupt, path, ": ends at offset ", offset + done, ", expected ",
            offset + out.size(), " bytes or more; copy or partition it again");
    }
    done += static_cast<size_t>(got);
    WatchedThread::CountProgress();
  }
}

void WriteExactly(int fd, std::span<const std::byte> bytes, const std::string& path) {
  size_t done = 0;
  while (done < bytes.size()) {
    ssize_t put = ::write(fd, bytes.data() + done, std::min(bytes.size() - done, kMostPerCall));
    if (put < 0 && errno == EINTR) continue;
    if (put < 0) ThrowErrno("can't write", path);
    done += static_cast<size_t>(put);
    WatchedThread::CountProgress();
  }
}

void WriteExactlyAt(int fd, uint64_t offset, std::span<const std::byte> bytes,
                    const std::string& path) {
  size_t done = 0;
  while (done < bytes.size()) {
    ssize_t put = ::pwrite(fd, bytes.data() + done, std::min(bytes.size() - done, kMostPerCall),
                           static_cast<off_t>(offset + done));
    if (put < 0 && errno == EINTR) continue;
    if (put < 0) ThrowErrno("can't write", path);
    done += static_cast<size_t>(put);
    WatchedThread::CountProgress();
  }
}

void Sync(int fd, const std::string& path) {
  if (::fsync(fd) != 0) ThrowErrno("can't sync", path);
  WatchedThread::CountProgress();
}

void SyncDirectory(const std::string& path) {
  Sync(OpenFile(path, O_RDONLY | O_DIRECTORY).get(), path);
}

MappedFile::MappedFile(const std::string& path) : path_(path), size_(FileSize(path)) {
  if (size_ == 0) return;
  UniqueFd fd = OpenFile(path, O_RDONLY);
  void* mapped = ::mmap(nullptr, size_, PROT_READ, MAP_PRIVATE, fd.get(), 0);
  if (mapped == MAP_FAILED) ThrowErrno("can't map", path);
  data_ = static_cast<const std::byte*>(mapped);
}

MappedFile::~MappedFile() {
  if (data_) ::munmap(const_cast<std::byte*>(data_), size_);
}

std::string JoinPath(const std::string& directory, const std::string& path) {
  if (!path.empty() && path[0] == '/') return path;
  return directory.empty() || directory == "." ? path : directory + "/" + path;
}

std::string DirName(const std::string& path) {
  const size_t slash = path.rfind('/');
  if (slash == std::string::npos) return ".";
  return slash == 0 ? "/" : path.substr(0, slash);
}

}  // namespace graphd
