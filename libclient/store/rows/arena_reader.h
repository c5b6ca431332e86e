// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "base/file.h"
#include "base/mapping_guard.h"
#include "store/rows/arena_layout.h"

// A trainer's view of a table's rows in the memory of the daemon on its machine: Arena::reader_fd,
// mapped read-only. Rows are never torn. Rows whose pages are not in memory must be requested from
// the daemon. The daemon does not see these reads, so with a memory budget, only its own reads and
// pushes keep pages from being evicted. Thread-safe.
//
// Another process may truncate the file that has the rows. Then no row can be read here any more,
// and all rows must be requested from the daemon, which knows whether rows are lost.

namespace graphd::store {

class ArenaReader {
 public:
  // Takes ownership of `fd`. Throws Error: kInvalid if it is not an arena of this shape, so that no
  // access can fault later; kOverloaded if it can't be mapped.
  ArenaReader(UniqueFd fd, int64_t rows, size_t row_bytes);
  ~ArenaReader();
  ArenaReader(const ArenaReader&) = delete;
  ArenaReader& operator=(const ArenaReader&) = delete;

  int64_t rows() const noexcept { return rows_; }
  size_t row_bytes() const noexcept { return row_bytes_; }

  // Copies a row, which is in range. Returns false if the row's page is not in memory, or has been
  // locked for some ten milliseconds, as after the daemon was killed, or if the memory was
  // truncated.
  bool TryRead(int64_t row, std::byte* out) const noexcept;

  // Copies row rows[i] to row i of `out`, or to row to[i] if `to` is not empty. Sets `missing` to
  // the positions in `rows` of rows for which TryRead would return false, or to all positions if a
  // checkpoint was being restored meanwhile or the memory was truncated. The rows of `out` for
  // these positions are undefined. Throws Error(kInvalid), before any read, if a row is out of
  // range.
  void Read(std::span<const int64_t> rows, std::span<const int64_t> to, std::byte* out,
            std::vector<uint32_t>& missing) const;

 private:
  template <size_t kLines>  // cache lines of a row (WithLines)
  void ReadEach(std::span<const int64_t> rows, std::span<const int64_t> to, std::byte* out,
                std::vector<uint32_t>& missing) const;
  const std::atomic<uint64_t>& word(int64_t row) const noexcept { return words_[row / kPageRows]; }
  const std::byte* value(int64_t row) const noexcept {
    return values_ + static_cast<size_t>(row) * row_bytes_;
  }

  int64_t rows_;
  size_t row_bytes_;
  uint64_t mapped_ = 0;
  const std::atomic<uint64_t>* words_ = nullptr;
  const std::byte* values_ = nullptr;
  MappingGuard guard_;
};

}  // namespace graphd::store
