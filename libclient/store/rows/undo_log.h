// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <string>

#include "base/file.h"
#include "base/mapping_guard.h"
#include "base/threads/mutex.h"
#include "store/rows/arena_layout.h"

// An undo log in a file of a tmpfs: the rows of a page as they were before a thread began to change
// them. With a PersistentArena, the next process rolls back the change that this process was making
// when it was killed, and replays the push. The code only keeps the compiler from reordering its
// writes to memory. This is enough, because the writes of a killed process reach memory in program
// order, unlike the writes of a machine that loses power. The header ends with a magic number, and
// each row with a mark. So a file that somebody has truncated, and perhaps extended again, is not
// mistaken for a log without an unfinished change. Used by one thread.

namespace graphd::store {

class UndoLog {
 public:
  // An upper bound of the rows of a page with their state (TableSpec::Check bounds a row).
  static constexpr uint64_t kMaxBytes = uint64_t{4} << 30;

  // Opens the file, or creates it. If an earlier process is known to have used it (`kept`), and it
  // is missing or was truncated, found_damage() says so, and the file stays recognisable as damaged
  // until it is replaced. Throws Error: kIo, kOverloaded.
  UndoLog(const std::string& path, bool kept);
  ~UndoLog();
  UndoLog(const UndoLog&) = delete;
  UndoLog& operator=(const UndoLog&) = delete;

  // Allocates memory for the rows of a page of `page_bytes`. Any thread may call it. Throws
  // Error(kOverloaded).
  void Reserve(uint64_t page_bytes);
  // Frees the memory beyond that for pages of `page_bytes`, if there is any. No table may have
  // larger pages.
  void Shrink(uint64_t page_bytes) noexcept;

  // Returns why changes of the earlier process can't be rolled back, or an empty text.
  const std::string& found_damage() const noexcept { return found_damage_; }
  // Return and set the number of logs that are used together, which is stored in the first one.
  uint64_t group() const noexcept { return header().group; }
  void SetGroup(uint64_t logs) noexcept { header().group = logs; }
  const std::string& path() const noexcept { return path_; }
  uint64_t reserved_page_bytes() const noexcept { return reserved_ - FileBytes(0); }

  // Returns whether some rows may be missing in the log, because the file was truncated.
  bool damaged() const noexcept { return guard_.damaged(); }
  // Returns the damage to the file since it was opened, or an empty text. Any thread may call it.
  std::string Damage() const;

  // Begins a change of the page, which is locked and has the sequence number `lsn`.
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
  // Saves a row before it changes.
  void Save(int64_t row, const std::byte* value, const std::byte* state) noexcept {
    Header& h = header();
    std::memcpy(at_, &row, sizeof row);
    std::memcpy(at_ + sizeof row, value, h.value_bytes);
    if (h.state_bytes != 0) std::memcpy(at_ + sizeof row + h.value_bytes, state, h.state_bytes);
    at_ += sizeof row + h.value_bytes + h.state_bytes;
    std::memcpy(at_, &kRowMark, sizeof kRowMark);
    at_ += sizeof kRowMark;
    h.rows.store(h.rows.load(std::memory_order_relaxed) + 1, std::memory_order_release);
    std::atomic_signal_fence(std::memory_order_seq_cst);  // keeps the row's own stores after these
  }
  // Ends the change: rows and sequence number have changed, and the page is still locked.
  void End() noexcept {
    header().rows.store(0, std::memory_order_release);
    std::atomic_signal_fence(
        std::memory_order_seq_cst);  // keeps the stores of Begin after this one
  }

  // These methods describe the change that an earlier process had not finished. any() returns
  // whether there is such a change, of which nothing was lost; the other methods may only be called
  // if there is.
  bool any() const noexcept {
    return found_damage_.empty() && header().rows.load(std::memory_order_acquire) != 0;
  }
  uint32_t table() const noexcept { return header().table; }
  uint64_t page() const noexcept { return header().page; }
  uint64_t lsn() const noexcept { return header().lsn; }
  // Calls f(row, value, state) for each saved row, unless rows have other sizes than these. `state`
  // is null if the table had no state yet.
  template <class F>
  void EachRow(size_t value_bytes, size_t state_bytes, const F& f) const {
    const Header& h = header();
    if (h.value_bytes != value_bytes) return;
    if (h.state_bytes != state_bytes && h.state_bytes != 0) return;
    const bool has_state = h.state_bytes != 0;
    const std::byte* at = begin();
    const uint64_t rows = h.rows.load(std::memory_order_acquire);
    for (uint64_t i = 0; i < rows && i < kPageRows; i++) {
      int64_t row;
      std::memcpy(&row, at, sizeof row);
      f(row, at + sizeof row, has_state ? at + sizeof row + value_bytes : nullptr);
      at += h.value_bytes + h.state_bytes + kRowExtra;
    }
  }

 private:
  struct Header {
    std::atomic<uint64_t> rows;  // number of saved rows; 0 if nothing is being changed
    uint64_t page, lsn, value_bytes, state_bytes;
    uint64_t group;
    uint64_t reserved;  // the file has at least as many bytes
    uint32_t table;
    uint32_t unused;
    uint64_t magic;  // last, because a truncated file loses its end
  };
  static constexpr uint64_t kMaxGroup = 4096;
  static constexpr uint64_t kMagic = 0x31676f6c6f646e75;                    // "undolog1"
  static constexpr uint64_t kRowMark = 0x646e655f776f725f;                  // "_row_end"
  static constexpr uint64_t kRowExtra = sizeof(int64_t) + sizeof kRowMark;  // id and mark
  Header& header() const noexcept { return *reinterpret_cast<Header*>(base_); }
  std::byte* begin() const noexcept { return base_ + kHeaderBytes; }
  std::string FindDamage(uint64_t file_bytes) const;

  static constexpr uint64_t kHeaderBytes = 4096;
  static constexpr uint64_t FileBytes(uint64_t page_bytes) {
    return kHeaderBytes + page_bytes + kPageRows * kRowExtra;
  }
  const std::string path_;
  std::string found_damage_;
  mutable Mutex mutex_;  // held while the file grows, and while its size is checked
  UniqueFd fd_ GRAPHD_GUARDED_BY(mutex_);
  std::atomic<uint64_t> reserved_ = 0;  // size of the file; changes under mutex_
  MappingGuard guard_;
  std::byte* base_ = nullptr;
  std::byte* at_ = nullptr;  // position of the next row
};

}  // namespace graphd::store
