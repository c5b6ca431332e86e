// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <thread>
#include <vector>

#include "base/file.h"
#include "base/threads/mutex.h"
#include "graphd/tensor.h"

// Files that hold data that does not fit the given memory while a graph is partitioned.

namespace graphd {

// The resident memory of this process, in bytes. `own` is anonymous memory; `files` is memory of
// mapped files and shared memory.
struct ResidentMemory {
  uint64_t own = 0, files = 0;
};
// Reads the resident memory from an open /proc/self/statm. Returns zeros if it can't be read.
ResidentMemory ReadResidentMemory(int statm) noexcept;

// A place in a file.
struct FileRange {
  std::string path;
  uint64_t offset = 0;
};

// A directory of such files, and their mappings. A thread keeps the resident pages of all mappings
// below a limit: it counts them every millisecond and, if they exceed half the limit, releases them
// all. This loses no data, because the pages are read from the files (mostly from the page cache)
// again. Thread-safe.
class SpillFiles {
 public:
  // Creates the directory if needed. `resident_bytes` is the limit of resident mapped pages.
  SpillFiles(std::string directory, uint64_t resident_bytes);
  ~SpillFiles();
  SpillFiles(const SpillFiles&) = delete;
  SpillFiles& operator=(const SpillFiles&) = delete;

  const std::string& directory() const noexcept { return directory_; }
  // Returns the path of a file that does not exist yet.
  std::string NewPath();

  // Maps part of a file as a tensor, which must not be written to. Throws Error(kCorrupt) if the
  // file is too short, or if the offset does not fit the dtype's alignment.
  Tensor Map(const FileRange& range, DType dtype, std::vector<int64_t> shape);
  // Maps the array of a .npy file, as MapNpy does.
  Tensor MapNpyFile(const std::string& path);
  // Returns the position of a tensor's elements in a file, with an absolute path, if one of the
  // functions above has returned the tensor.
  std::optional<FileRange> Find(const Tensor& tensor) const;

 private:
  struct Mapping {
    std::span<const std::byte> bytes;  // the whole file
    std::string path;
    std::weak_ptr<void> owner;
  };
  void Note(const Tensor& tensor, std::span<const std::byte> file, const std::string& path);
  void KeepBelowLimit(const std::stop_token& stop);
  void ReleasePages();

  const std::string directory_;
  const uint64_t resident_bytes_;
  const UniqueFd statm_;
  mutable Mutex mutex_;
  CondVar stopped_;
  std::vector<Mapping> mappings_ GRAPHD_GUARDED_BY(mutex_);
  uint64_t next_file_ GRAPHD_GUARDED_BY(mutex_) = 0;
  std::jthread keeper_;  // the last member, so it is destroyed first: it uses the others
};

// A file that is written from its beginning to its end through a buffer of 256 KiB, or less for
// small files. Not thread-safe.
class SpillFile {
 public:
  explicit SpillFile(std::string path);
  void Append(std::span<const std::byte> bytes);
  // Writes the contents of the buffer. The file is not synced.
  void Flush();
  uint64_t size() const noexcept { return written_ + buffer_.size(); }
  const std::string& path() const noexcept { return path_; }
  int fd() const noexcept { return fd_.get(); }

 private:
  std::string path_;
  UniqueFd fd_;
  std::vector<std::byte> buffer_;
  uint64_t written_ = 0;
};

}  // namespace graphd
