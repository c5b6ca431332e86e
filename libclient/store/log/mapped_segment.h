// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <cstddef>
#include <cstdint>
#include <string>

#include "base/file.h"

namespace graphd::store {

// A segment of a push log in a tmpfs, written as memory: a record costs one copy, past the
// processor's caches, and no call of the system. One thread, but for Put.
class MappedSegment {
 public:
  // Opens the file, or makes it, with memory for at least so many bytes, on large pages if there
  // are any: making them takes milliseconds, once for each file. Throws Error: kOverloaded if there
  // is no room, kIo.
  MappedSegment(const std::string& path, uint64_t bytes);
  ~MappedSegment();
  MappedSegment(const MappedSegment&) = delete;
  MappedSegment& operator=(const MappedSegment&) = delete;

  // Makes the file, with memory, for later. Returns its bytes. Throws likewise.
  static uint64_t MakeFile(const std::string& path, uint64_t bytes);

  // The file was renamed.
  void SetPath(const std::string& path) { path_ = path; }

  uint64_t bytes() const noexcept { return bytes_; }
  // Has memory for so many, if it has less. Throws likewise; then it is as before.
  void Grow(uint64_t bytes);

  // Copies to `offset`, which is a multiple of 8. Several threads may, to different places.
  void Put(uint64_t offset, const void* from, size_t bytes) noexcept;
  // The same, behind all that was put before, as the caller saw it: should the process end in
  // between, its first four bytes are not there.
  void PutLast(uint64_t offset, const void* from, size_t bytes) noexcept;

 private:
  explicit MappedSegment(const std::string& path);
  void Take(uint64_t bytes) const;
  void Map(uint64_t bytes);

  std::string path_;
  UniqueFd fd_;
  uint64_t bytes_ = 0;
  std::byte* data_ = nullptr;
};

}  // namespace graphd::store
