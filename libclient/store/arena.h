// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string>

#include "base/file.h"
#include "base/huge_array.h"
#include "store/arena_layout.h"

// The rows of one table in memory that trainers of this machine may map read-only (ArenaReader): a
// memfd; and, in the daemon's own memory, what optimisers keep beside the rows.

namespace graphd::store {

class Arena {
 public:
  struct Shape {
    int64_t rows = 0;
    size_t row_bytes = 0;
    size_t state_floats = 0;  // per row
  };

  // Takes address space only: memory comes with each page. `name` shows in /proc/PID/maps. Throws
  // Error(kOverloaded).
  Arena(const std::string& name, Shape shape);
  ~Arena();
  Arena(const Arena&) = delete;
  Arena& operator=(const Arena&) = delete;

  const Shape& shape() const noexcept { return shape_; }
  uint64_t num_pages() const noexcept { return ArenaPages(shape_.rows); }
  int64_t rows_of(uint64_t page) const noexcept;
  // For trainers: can't be written through, nor opened anew for writing.
  int reader_fd() const noexcept { return reader_fd_.get(); }

  // Gives rows that had no state one, of zeros. Nobody uses the arena's state meanwhile.
  HugeArray<float> MakeStates(size_t state_floats) const;
  void AdoptStates(size_t state_floats, HugeArray<float> states) noexcept;

  std::atomic<uint64_t>& word(uint64_t page) noexcept { return words_[page]; }
  std::byte* value(int64_t row) noexcept {
    return values_ + static_cast<size_t>(row) * shape_.row_bytes;
  }
  float* state(int64_t row) noexcept {
    return states_.data() + static_cast<size_t>(row) * shape_.state_floats;
  }

  // Waits while another changes the page; returns the word before, without kPageLocked.
  uint64_t Lock(uint64_t page) noexcept;
  // The page has changed, or come into memory.
  void Unlock(uint64_t page, uint64_t word_before) noexcept {
    words_[page].store(((word_before | kPageResident) + kPageChange), std::memory_order_release);
  }
  // It has not.
  void UnlockUnchanged(uint64_t page, uint64_t word_before) noexcept {
    words_[page].store(word_before, std::memory_order_release);
  }

  // Takes memory for the page's values, so that a shortage is Error(kOverloaded) and no SIGBUS.
  void Reserve(uint64_t page);

  // Copies the row if its page is in memory, whole and unchanged meanwhile. Waits while it changes.
  bool TryRead(int64_t row, std::byte* out) noexcept;
  // For whoever holds the page's lock.
  void Write(int64_t row, const std::byte* from) noexcept;

 private:
  Shape shape_;
  UniqueFd fd_, reader_fd_;
  size_t mapped_ = 0;
  std::atomic<uint64_t>* words_ = nullptr;
  std::byte* values_ = nullptr;
  HugeArray<float> states_;
};

}  // namespace graphd::store
