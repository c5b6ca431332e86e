// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <utility>

// Files and descriptors. Failures throw Error(kIo), Error(kNotFound), Error(kDenied) or, when disk
// space, descriptors or memory run out, Error(kOverloaded), with the path and the system's reason.

namespace graphd {

// Throws Error for the current errno: "<what> <path>: <reason>".
[[noreturn]] void ThrowErrno(const std::string& what, const std::string& path);

// The owner of a file descriptor, which it closes when destroyed.
class UniqueFd {
 public:
  UniqueFd() = default;
  explicit UniqueFd(int fd) noexcept : fd_(fd) {}
  UniqueFd(UniqueFd&& o) noexcept : fd_(std::exchange(o.fd_, -1)) {}
  UniqueFd& operator=(UniqueFd&& o) noexcept {
    if (this != &o) reset(std::exchange(o.fd_, -1));
    return *this;
  }
  ~UniqueFd() { reset(); }
  int get() const noexcept { return fd_; }
  int release() noexcept { return std::exchange(fd_, -1); }
  void reset(int fd = -1) noexcept;
  explicit operator bool() const noexcept { return fd_ >= 0; }

 private:
  int fd_ = -1;
};

// Calls open(2) with O_CLOEXEC.
UniqueFd OpenFile(const std::string& path, int flags, unsigned mode = 0644);
uint64_t FileSize(const std::string& path);
bool FileExists(const std::string& path) noexcept;

// Returns the whole file as text. Throws Error(kInvalid) if it is larger than `max_bytes`.
std::string ReadTextFile(const std::string& path, size_t max_bytes = size_t{64} << 20);
// Writes a temporary file beside `path`, syncs it and renames it, so that readers see either the
// old or the new file.
void WriteFileAtomically(const std::string& path, std::string_view text);
// Creates the directory and its missing parents.
void MakeDirectories(const std::string& path);

// Reads exactly out.size() bytes from `offset`. Throws Error(kCorrupt) if the file is too short.
void ReadExactly(int fd, uint64_t offset, std::span<std::byte> out, const std::string& path);
void WriteExactly(int fd, std::span<const std::byte> bytes, const std::string& path);
// Writes the bytes at `offset`, whatever the position of the descriptor is. Several threads may
// write to a file in this way at the same time.
void WriteExactlyAt(int fd, uint64_t offset, std::span<const std::byte> bytes,
                    const std::string& path);
// Waits until the contents of the file or, for a directory, its entries are on the disk.
void Sync(int fd, const std::string& path);
void SyncDirectory(const std::string& path);

// A regular file mapped read-only. An empty file maps to an empty span.
class MappedFile {
 public:
  explicit MappedFile(const std::string& path);
  MappedFile(MappedFile&& o) noexcept
      : path_(std::move(o.path_)),
        data_(std::exchange(o.data_, nullptr)),
        size_(std::exchange(o.size_, 0)) {}
  MappedFile& operator=(MappedFile&&) = delete;
  ~MappedFile();
  std::span<const std::byte> bytes() const noexcept { return {data_, size_}; }
  const std::string& path() const noexcept { return path_; }

 private:
  std::string path_;
  const std::byte* data_ = nullptr;
  size_t size_ = 0;
};

// Returns `path` if it is absolute, else directory/path.
std::string JoinPath(const std::string& directory, const std::string& path);
// Returns everything before the last '/', or "." if the path has no '/'.
std::string DirName(const std::string& path);

}  // namespace graphd
