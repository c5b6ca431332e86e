// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <string>

#include "base/file.h"
#include "store/rows/arena_layout.h"

// What the rows of a page were before a thread began to change them, in a file of a tmpfs: where
// memory outlasts the process, the next one takes back what this one was in the middle of when it
// was killed, and replays the push. The order of the stores is that of the program, which is
// enough: a killed process's stores reach memory in their order, unlike those of a machine that
// loses power. One thread.

namespace graphd::store {

class UndoLog {
 public:
  // More than the rows of any page take, with their state (TableSpec::Check bounds a row).
  static constexpr uint64_t kMostBytes = uint64_t{4} << 30;

  // Opens the file, or makes an empty one. Throws Error.
  explicit UndoLog(const std::string& path);
  ~UndoLog();
  UndoLog(const UndoLog&) = delete;
  UndoLog& operator=(const UndoLog&) = delete;

  // Has memory for the rows of a page of that many bytes from now on. Any thread. Throws
  // Error(kOverloaded).
  void Reserve(uint64_t page_bytes);

  // The page's rows will change; it is locked, and has seen `lsn`.
  void Begin(uint32_t table, uint64_t page, uint64_t lsn, size_t value_bytes,
             size_t state_bytes) noexcept {
    Header& h = header();
    h.table = table;
    h.page = page;
    h.lsn = lsn;
    h.value_bytes = value_bytes;
    h.state_bytes = state_bytes;
    at_ = begin();
  }
  // Before the row changes.
  void Keep(int64_t row, const std::byte* value, const std::byte* state) noexcept {
    Header& h = header();
    std::memcpy(at_, &row, sizeof row);
    std::memcpy(at_ + sizeof row, value, h.value_bytes);
    if (h.state_bytes != 0) std::memcpy(at_ + sizeof row + h.value_bytes, state, h.state_bytes);
    at_ += sizeof row + h.value_bytes + h.state_bytes;
    h.rows.store(h.rows.load(std::memory_order_relaxed) + 1, std::memory_order_release);
    std::atomic_signal_fence(std::memory_order_seq_cst);  // the row's own stores come behind
  }
  // They have changed, and the page's number says so; it is still locked.
  void End() noexcept {
    header().rows.store(0, std::memory_order_release);
    std::atomic_signal_fence(std::memory_order_seq_cst);  // what Begin stores comes behind
  }

  // What an earlier process left.
  bool any() const noexcept { return header().rows.load(std::memory_order_acquire) != 0; }
  uint32_t table() const noexcept { return header().table; }
  uint64_t page() const noexcept { return header().page; }
  uint64_t lsn() const noexcept { return header().lsn; }
  // Calls f(row, value, state) for each row, unless they have other sizes than these.
  template <class F>
  void EachRow(size_t value_bytes, size_t state_bytes, const F& f) const {
    const Header& h = header();
    if (h.value_bytes != value_bytes || h.state_bytes != state_bytes) return;
    const std::byte* at = begin();
    const uint64_t rows = h.rows.load(std::memory_order_acquire);
    for (uint64_t i = 0; i < rows && i < kPageRows; i++) {
      int64_t row;
      std::memcpy(&row, at, sizeof row);
      f(row, at + sizeof row, at + sizeof row + value_bytes);
      at += sizeof row + value_bytes + state_bytes;
    }
  }

 private:
  struct Header {
    std::atomic<uint64_t> rows;  // that are kept; 0: nothing is being changed
    uint64_t page, lsn, value_bytes, state_bytes;
    uint32_t table;
  };
  Header& header() const noexcept { return *reinterpret_cast<Header*>(base_); }
  std::byte* begin() const noexcept { return base_ + kHeaderBytes; }

  static constexpr uint64_t kHeaderBytes = 4096;
  const std::string path_;
  UniqueFd fd_;
  std::byte* base_ = nullptr;
  std::byte* at_ = nullptr;  // where the next row goes
};

}  // namespace graphd::store
