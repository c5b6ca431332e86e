// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <cstddef>
#include <cstdint>
#include <string>

#include "base/file.h"
#include "base/mapping_guard.h"

namespace graphd::store {

// A segment file of a push log in a tmpfs, written through a memory mapping. Writing a record takes
// one copy, which bypasses the processor's caches, and needs no system call. Not thread-safe,
// except that several threads may call Put for different places.
class MappedSegment {
 public:
  // Opens or creates the file, with memory for at least `bytes`, on huge pages if possible. This
  // takes milliseconds, once for each file. Throws Error: kOverloaded if the tmpfs is full, kIo.
  MappedSegment(const std::string& path, uint64_t bytes);
  ~MappedSegment();
  MappedSegment(const MappedSegment&) = delete;
  MappedSegment& operator=(const MappedSegment&) = delete;

  // Creates a file with memory for later use. Returns its size. Throws as the constructor.
  static uint64_t MakeFile(const std::string& path, uint64_t bytes);

  // Sets the path after the file was renamed.
  void SetPath(const std::string& path) { path_ = path; }

  uint64_t bytes() const noexcept { return bytes_; }
  // Throws Error if data that was put may be missing in the file: kIo if the file was removed or
  // replaced, kCorrupt if it was truncated.
  void CheckIntact() const;
  // Grows to at least `bytes`. Throws as the constructor; the segment is unchanged then.
  void Grow(uint64_t bytes);

  // Copies to `offset`, which is a multiple of 8. Several threads may copy to different places.
  void Put(uint64_t offset, const void* from, size_t bytes) noexcept;
  // Copies to `offset` when everything that the caller has put before is in memory. Writes the
  // first four bytes last, so they are missing if the process is killed during the call.
  void PutLast(uint64_t offset, const void* from, size_t bytes) noexcept;

 private:
  explicit MappedSegment(const std::string& path);
  void Allocate(uint64_t bytes) const;
  void Map(uint64_t bytes);

  std::string path_;
  UniqueFd fd_;
  uint64_t bytes_ = 0;
  std::byte* data_ = nullptr;
  MappingGuard guard_;
};

}  // namespace graphd::store
