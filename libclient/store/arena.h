// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string>

#include "base/file.h"
#include "base/huge_array.h"

// The rows of one table in memory that trainers of this machine may map read-only: a memfd with a
// word per page and then the values, row after row; and, in the daemon's own memory, what
// optimisers keep beside the rows. A page is 64 rows.
//
// A page's word is a sequence lock (Boehm, "Can seqlocks get along with programming language memory
// models?", 2012): bit 0 is set while somebody changes the page, bit 1 says that the page is in
// memory, and the rest counts changes. Values are written and read in atomic pieces; who reads a
// row compares the word before and after, and so never sees a row half changed.

namespace graphd::store {

constexpr int64_t kPageRows = 64;

class Arena {
 public:
  struct Shape {
    int64_t rows = 0;
    size_t row_bytes = 0;
    size_t state_floats = 0;  // per row
  };

  static constexpr uint64_t kLocked = 1;
  static constexpr uint64_t kResident = 2;
  static constexpr uint64_t kChange = 4;

  // Takes address space only: memory comes with each page. `name` shows in /proc/PID/maps. Throws
  // Error(kOverloaded).
  Arena(const std::string& name, Shape shape);
  ~Arena();
  Arena(const Arena&) = delete;
  Arena& operator=(const Arena&) = delete;

  const Shape& shape() const noexcept { return shape_; }
  uint64_t num_pages() const noexcept { return PagesOf(shape_.rows); }
  int64_t rows_of(uint64_t page) const noexcept;
  int fd() const noexcept { return fd_.get(); }
  static uint64_t PagesOf(int64_t rows) noexcept {
    return static_cast<uint64_t>((rows + kPageRows - 1) / kPageRows);
  }
  // Where the values begin in the memfd; the words begin at 0.
  static uint64_t ValuesOffset(int64_t rows) noexcept;

  std::atomic<uint64_t>& word(uint64_t page) noexcept { return words_[page]; }
  std::byte* value(int64_t row) noexcept {
    return values_ + static_cast<size_t>(row) * shape_.row_bytes;
  }
  float* state(int64_t row) noexcept {
    return states_.data() + static_cast<size_t>(row) * shape_.state_floats;
  }

  // Waits while another changes the page; returns the word before, without kLocked.
  uint64_t Lock(uint64_t page) noexcept;
  // The page has changed, or come into memory.
  void Unlock(uint64_t page, uint64_t word_before) noexcept {
    words_[page].store(((word_before | kResident) + kChange), std::memory_order_release);
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
  UniqueFd fd_;
  size_t mapped_ = 0;
  std::atomic<uint64_t>* words_ = nullptr;
  std::byte* values_ = nullptr;
  HugeArray<float> states_;
};

}  // namespace graphd::store
