// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "base/file.h"
#include "base/fork.h"
#include "client/cache/cache_layout.h"

namespace graphd {

// The size and the contents of a row cache.
struct CacheShape {
  uint64_t bytes = 0;             // the size of the whole memory
  uint64_t key = 0;               // identifies the graph that the rows belong to
  std::vector<size_t> row_bytes;  // [feature]
  // [feature] number of rows that may be stored; empty: unknown. A feature begins with as much
  // memory as these rows need, or with a proportional share of the memory if the rows of all
  // features need more than there is.
  std::vector<uint64_t> rows = {};

  static constexpr uint64_t kLeastBytes = uint64_t{256} << 10;
};

// The memory of a row cache: a memfd, which is freed when the last process that has it ends, even
// if that process is killed. Its size is sealed, so that no process can truncate memory that others
// read. Thread-safe.
class CacheMemory {
 public:
  // Makes memory without rows. Throws Error(kInvalid) if the shape has fewer than kLeastBytes or no
  // room for its features, and Error(kOverloaded) if the machine does not have that much memory.
  explicit CacheMemory(const CacheShape& shape);
  // Maps memory that another process has made. It may be larger or smaller than shape.bytes. Throws
  // Error(kCorrupt) if the memory has another format version, or was made for other features than
  // those of the shape; `owner`, such as "process 17", names the process that made it, in messages.
  CacheMemory(UniqueFd fd, const CacheShape& shape, const std::string& owner);
  ~CacheMemory();
  CacheMemory(const CacheMemory&) = delete;
  CacheMemory& operator=(const CacheMemory&) = delete;

  int fd() const noexcept { return fd_.get(); }
  uint64_t bytes() const noexcept { return bytes_; }
  uint64_t extent_bytes() const noexcept { return extent_bytes_; }
  uint32_t num_extents() const noexcept { return num_extents_; }
  CacheHeader& header() const noexcept { return *header_; }
  std::span<CacheTable> tables() const noexcept { return tables_; }
  // Returns CacheShape::row_bytes as it was given to the constructor. It is not read from the
  // memory, which another process could change.
  const std::vector<size_t>& row_bytes() const noexcept { return row_bytes_; }
  std::byte* extent(uint32_t i) const noexcept { return base_ + uint64_t{i} * extent_bytes_; }
  // Allocates the pages of an extent. Returns false if the machine has no memory for them.
  bool Populate(uint32_t extent) noexcept;
  // Excludes the memory from child processes that are forked from now on, so that it is freed when
  // this process ends although a child still runs. The children must not access the memory.
  void HideFromChildren();

 private:
  void Map();

  UniqueFd fd_;
  std::optional<ClosedInChildren> closed_in_children_;  // destroyed before the descriptor
  std::byte* base_ = nullptr;
  // Copies of what the header says, which was checked once.
  uint64_t bytes_ = 0, extent_bytes_ = 0;
  uint32_t num_extents_ = 0;
  CacheHeader* header_ = nullptr;
  std::span<CacheTable> tables_;
  std::vector<size_t> row_bytes_;
};

}  // namespace graphd
