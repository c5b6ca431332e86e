// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "base/file.h"
#include "store/rows/arena_layout.h"

// A trainer's view of a table's rows in its daemon's memory: Arena::reader_fd, mapped read-only.
// Never a torn row; rows whose pages are not in memory are for the daemon to bring. Thread-safe.
// The daemon can't see what is read here, so under a bound of memory only its own reads and pushes
// keep pages in.

namespace graphd::store {

class ArenaReader {
 public:
  // `fd` is taken over. Throws Error(kInvalid) if it is not an arena of this shape, so that no
  // access can fault later; kOverloaded if it can't be mapped.
  ArenaReader(UniqueFd fd, int64_t rows, size_t row_bytes);
  ~ArenaReader();
  ArenaReader(const ArenaReader&) = delete;
  ArenaReader& operator=(const ArenaReader&) = delete;

  int64_t rows() const noexcept { return rows_; }
  size_t row_bytes() const noexcept { return row_bytes_; }

  // False if the row's page is not in memory, or has been locked for some ten milliseconds, as when
  // the daemon was killed. `row` is in range.
  bool TryRead(int64_t row, std::byte* out) const noexcept;

  // Row rows[i] goes to out row i, or to out row to[i] if `to` is not empty. `missing` gets those
  // that TryRead would not give, or all if a checkpoint's rows come in meanwhile, as positions in
  // `rows`; their places in `out` are undefined. Throws Error(kInvalid), with nothing read, if a
  // row is out of range.
  void Read(std::span<const int64_t> rows, std::span<const int64_t> to, std::byte* out,
            std::vector<uint32_t>& missing) const;

 private:
  template <size_t kLines>  // WithLines
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
};

}  // namespace graphd::store
