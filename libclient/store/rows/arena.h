// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <mutex>
#include <string>
#include <vector>

#include "base/file.h"
#include "base/huge_array.h"
#include "store/rows/arena_layout.h"
#include "store/rows/block_uses.h"
#include "store/rows/full_pages.h"

// The rows of one table in memory that trainers of this machine may map read-only (ArenaReader),
// and in the daemon's own memory what optimisers keep beside the rows, and the number of the last
// push that each page has seen. The memory ends with the process, or lies in files of a tmpfs
// (PersistentArena) and is there for the next one.

namespace graphd::store {

class Arena {
 public:
  struct Shape {
    int64_t rows = 0;
    size_t row_bytes = 0;
    size_t state_floats = 0;  // per row
    // Pages of 4 KiB only, so that those of the table can go one by one.
    bool small_pages = false;
  };

  // Where its files are, in a tmpfs: their names begin with `path`.
  struct Files {
    std::string path;
    bool kept = false;  // what lies there is gone on with; otherwise made anew
  };
  // What optimisers keep, of all rows.
  struct States {
    UniqueFd fd;  // none unless it lies in a file
    HugeArray<float> floats;
  };

  // Takes address space only: memory comes with each page. `name` shows in /proc/PID/maps. Throws
  // Error: kOverloaded; kNotFound or kCorrupt if `files` are kept and are not there, or others.
  Arena(const std::string& name, Shape shape, const Files* files = nullptr);
  ~Arena();
  Arena(const Arena&) = delete;
  Arena& operator=(const Arena&) = delete;

  const Shape& shape() const noexcept { return shape_; }
  uint64_t num_pages() const noexcept { return ArenaPages(shape_.rows); }
  int64_t rows_of(uint64_t page) const noexcept;
  // For trainers: can't be written through, nor opened anew for writing.
  int reader_fd() const noexcept { return reader_fd_.get(); }

  // Gives rows that had no state one, of zeros. Nobody uses the arena's state meanwhile.
  States MakeStates(size_t state_floats) const;
  // Returns the memory that the states of pages that are there take now. Throws Error(kOverloaded)
  // before anything has changed.
  uint64_t AdoptStates(size_t state_floats, States states);

  std::atomic<uint64_t>& word(uint64_t page) noexcept { return words_[page]; }
  // How often rows of a checkpoint began to come, or ended; odd while they come, and nobody reads
  // others' rows meanwhile.
  uint64_t restores() const noexcept { return words_[num_pages()].load(std::memory_order_acquire); }
  // One thread at a time.
  void SetRestoring(bool restoring) noexcept {
    const uint64_t word = restores();
    if ((word % 2 != 0) != restoring) words_[num_pages()].store(word + 1);
  }
  std::byte* value(int64_t row) noexcept {
    return values_ + static_cast<size_t>(row) * shape_.row_bytes;
  }
  float* state(int64_t row) noexcept {
    return states_.floats.data() + static_cast<size_t>(row) * shape_.state_floats;
  }

  // What a change of the page looks at beside its rows.
  void PrefetchPage(uint64_t page) const noexcept {
    __builtin_prefetch(&words_[page], 1);
    __builtin_prefetch(&lsns_[page], 1);
  }

  // The number of the last push that the page has seen; for whoever holds its lock.
  uint64_t lsn(uint64_t page) const noexcept { return lsns_[page]; }
  void SetLsn(uint64_t page, uint64_t lsn) noexcept {
    __atomic_store_n(&lsns_[page], lsn, __ATOMIC_RELEASE);
  }

  // Waits while another changes the page; returns the word before, without kPageLocked.
  uint64_t Lock(uint64_t page) noexcept;
  // The same, but false if it would have to wait. Comes before what is read next for all threads
  // (as a push's pin does, which then looks at the word).
  bool TryLock(uint64_t page, uint64_t& word_before) noexcept;
  // The page has changed, or come into memory.
  void Unlock(uint64_t page, uint64_t word_before) noexcept {
    words_[page].store(((word_before | kPageResident) + kPageChange), std::memory_order_release);
  }
  // It has gone from memory.
  void UnlockAbsent(uint64_t page, uint64_t word_before) noexcept {
    words_[page].store((word_before & ~kPageResident) + kPageChange, std::memory_order_release);
  }
  // It is as before.
  void UnlockUnchanged(uint64_t page, uint64_t word_before) noexcept {
    words_[page].store(word_before, std::memory_order_release);
  }

  // For whoever holds the lock of a page that comes into memory: takes memory for its values now,
  // so that a shortage is Error(kOverloaded) and no SIGBUS, and for its state when it is written.
  // Returns the bytes that no other page has taken: blocks of 4 KiB belong to all that lie in them.
  uint64_t Reserve(uint64_t page);
  // The page goes: gives back what only it has taken.
  uint64_t Release(uint64_t page) noexcept;
  // For a page of files that were kept and that nobody else uses yet: takes the lock that an
  // earlier process held, and returns the memory that the page takes.
  uint64_t TakeOver(uint64_t page) noexcept;
  // The most that Reserve returns.
  uint64_t MostOf(uint64_t page) const noexcept;

  // Makes a large page of small ones, if there is one that is all in memory and wasn't joined yet;
  // false if there is none. Any thread; nobody exchanges the states meanwhile.
  bool JoinOnePage();

  // Copies the row if its page is in memory, whole and unchanged meanwhile. Waits while it changes.
  bool TryRead(int64_t row, std::byte* out) noexcept;
  // For whoever holds the page's lock.
  void Write(int64_t row, const std::byte* from) noexcept;

 private:
  struct Range {
    uint64_t begin, end;
  };
  Range ValuesOf(uint64_t page) const noexcept;                       // in values_
  Range StatesOf(uint64_t page, size_t state_floats) const noexcept;  // in states_, in bytes
  void Punch(uint64_t begin, uint64_t bytes) noexcept;
  void Take(int fd, uint64_t offset, uint64_t bytes) const;  // memory, now
  UniqueFd OpenPart(const char* suffix, size_t bytes, bool kept) const;
  States OpenStates(size_t state_floats, bool kept) const;
  template <class F>
  void EachResident(const F& f) const;
  void CountStates();
  void Count(const Range& values, const Range& states);  // under blocks_mutex_

  Shape shape_;
  const std::string name_;
  const std::string path_;  // of its files; empty: it has none
  UniqueFd fd_, reader_fd_;
  size_t mapped_ = 0;
  std::atomic<uint64_t>* words_ = nullptr;
  std::byte* values_ = nullptr;
  HugeArray<uint64_t> lsns_;  // by page
  States states_;
  std::mutex blocks_mutex_;  // guards the rest, and taking and giving back what they count
  BlockUses value_blocks_, state_blocks_;
  FullPages full_values_{0}, full_states_{0};  // of what has small pages now
  std::vector<std::byte*> to_join_;            // large pages that are all there
};

}  // namespace graphd::store
