// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "base/file.h"
#include "base/huge_array.h"
#include "base/mapping_guard.h"
#include "base/threads/mutex.h"
#include "store/rows/arena_layout.h"
#include "store/rows/array_memory.h"
#include "store/rows/memory_dir.h"

// The memory of one table. It has the rows, which trainers on this machine may map read-only
// (ArenaReader). It also has the optimiser state and the sequence number of each page's last push,
// which only the daemon uses. The memory is freed when the process ends, or is in files of a tmpfs
// (PersistentArena), where the next process finds it.
//
// Any thread may call Lock, TryLock, Reserve, Release, CollapseOnePage, TryRead and DropDamaged.
// Rows, states and lsn of a page are guarded by the page's lock.

namespace graphd::store {

class Arena {
 public:
  struct Shape {
    int64_t rows = 0;
    size_t row_bytes = 0;
    size_t state_floats = 0;  // per row
    // Use pages of 4 KiB only, so that the table's pages can be evicted one by one.
    bool small_pages = false;
  };

  // The files of an arena in a tmpfs.
  struct Files {
    std::string path;   // prefix of their names
    bool kept = false;  // whether their contents are used; otherwise they are created empty
  };
  // The optimiser state of all rows.
  struct States {
    UniqueFd fd;  // the file, if there is one
    HugeArray<float> floats;
    MappingGuard guard = {};  // guards `floats` in the file
    std::string path = {};    // the path of the file
    std::unique_ptr<ArrayMemory> memory = {};
    std::vector<bool> has_memory = {};  // by page; only until AdoptStates
    uint64_t taken = 0;                 // bytes that the states of these pages take

    void RemoveFile() const noexcept;
  };

  // Maps address space only; Reserve allocates the memory of each page. `name` is shown in
  // /proc/PID/maps. Throws Error: kOverloaded; kNotFound, kCorrupt or kDenied if `files` are kept,
  // and are missing, have another size, or could have been written by another user.
  Arena(const std::string& name, Shape shape, const Files* files = nullptr);
  ~Arena();
  Arena(const Arena&) = delete;
  Arena& operator=(const Arena&) = delete;

  const Shape& shape() const noexcept { return shape_; }
  uint64_t num_pages() const noexcept { return ArenaPages(shape_.rows); }
  int64_t rows_of(uint64_t page) const noexcept;
  // Returns the descriptor for trainers. They can't write through it, nor reopen it for writing.
  int reader_fd() const noexcept { return reader_fd_.get(); }

  // These functions give optimiser state of zeros to rows that had no state. MakeStates allocates
  // the state of the pages that are in memory. AdoptStates allocates the state of pages that were
  // loaded since then, and returns the bytes of all states that are allocated. No other thread may
  // use the arena's state during AdoptStates. If they throw Error(kOverloaded), they have changed
  // nothing.
  States MakeStates(size_t state_floats) const;
  uint64_t AdoptStates(size_t state_floats, States states);

  std::atomic<uint64_t>& word(uint64_t page) noexcept { return words_[page]; }
  const std::atomic<uint64_t>& word(uint64_t page) const noexcept { return words_[page]; }
  // Returns how many times a restore from a checkpoint has begun or ended. The number is odd during
  // a restore, when readers must not use rows that they have read.
  uint64_t restores() const noexcept { return words_[num_pages()].load(std::memory_order_acquire); }
  // Called by one thread at a time.
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

  // Prefetches the page's word and sequence number, which a change of the page needs besides its
  // rows.
  void PrefetchPage(uint64_t page) const noexcept {
    __builtin_prefetch(&words_[page], 1);
    __builtin_prefetch(&lsns_[page], 1);
  }

  // Returns the sequence number of the page's last push. The caller must hold the page's lock.
  uint64_t lsn(uint64_t page) const noexcept { return lsns_[page]; }
  void SetLsn(uint64_t page, uint64_t lsn) noexcept {
    __atomic_store_n(&lsns_[page], lsn, __ATOMIC_RELEASE);
  }

  // Locks the page, and waits while another thread has it locked. Returns the word that the page
  // had before it was locked, without kPageLocked.
  uint64_t Lock(uint64_t page) noexcept;
  // Locks the page unless another thread has it locked; returns false in this case. The operation
  // is sequentially consistent with later reads (Table::PinPage depends on it).
  bool TryLock(uint64_t page, uint64_t& word_before) noexcept;
  // Unlocks a page that has changed, or was loaded.
  void Unlock(uint64_t page, uint64_t word_before) noexcept {
    words_[page].store(((word_before | kPageResident) + kPageChange), std::memory_order_release);
  }
  // Unlocks a page that was evicted.
  void UnlockAbsent(uint64_t page, uint64_t word_before) noexcept {
    words_[page].store((word_before & ~kPageResident) + kPageChange, std::memory_order_release);
  }
  // Unlocks a page that has not changed.
  void UnlockUnchanged(uint64_t page, uint64_t word_before) noexcept {
    words_[page].store(word_before, std::memory_order_release);
  }

  // Allocates memory for a page that is being loaded, so that a shortage is reported by
  // Error(kOverloaded) and not by SIGBUS. (Anonymous memory, for states, is only counted.) The
  // caller holds the page's lock. Adds the bytes that were not allocated for other pages to
  // `taken`, even if it throws. Pages share blocks of 4 KiB and groups of huge pages, so these
  // bytes may be fewer or more than those of the page.
  void Reserve(uint64_t page, uint64_t& taken);
  // Frees the memory that only this page uses, and returns its bytes. The caller holds the page's
  // lock.
  uint64_t Release(uint64_t page) noexcept;
  // Takes over the pages of files that were kept. Must be called before other threads use them.
  // Allocates memory where the files have holes in these pages, calls `roll_back` while pages still
  // have the locks that an earlier process held, releases these locks, and returns the bytes that
  // the pages take. Throws Error, but not after it has called `roll_back`: kOverloaded; kCorrupt if
  // a page that was in memory is not there any more.
  uint64_t TakeOver(const std::function<void()>& roll_back);
  // Returns an upper bound of the bytes that Reserve adds to `taken`.
  uint64_t MaxBytesOf(uint64_t page) const noexcept;

  // See ArrayMemory::CollapseOnePage. AdoptStates must not run meanwhile.
  bool CollapseOnePage() {
    return value_memory_->CollapseOnePage() || states_.memory->CollapseOnePage();
  }
  // Returns whether the rows' memory is allocated in whole huge pages.
  bool has_huge_pages() const noexcept {
    return value_memory_->pages() == ArrayMemory::Pages::kHuge;
  }
  // Returns how many bytes may be allocated before they are needed.
  uint64_t room() const { return SpareMemory(fd_.get()); }

  // The functions below are for files that another process truncates while they are used
  // (MappingGuard). After that, the table must not be changed or written to the disk any more, and
  // the files are left unchanged, so that the next process sees the damage.
  //
  // Returns whether rows, states or sequence numbers may be lost. AdoptStates must not run
  // meanwhile.
  bool damaged() const noexcept { return rows_damaged() || states_.guard.damaged(); }
  // Returns whether rows or sequence numbers may be lost. Any thread may call it.
  bool rows_damaged() const noexcept {
    return rows_guard_.damaged() || lsns_guard_.damaged() || shrunk_.load();
  }
  // Returns what has happened to the files: they were removed, replaced or truncated; or an empty
  // text. AdoptStates must not run meanwhile.
  std::string WhatHappened() const;
  // Marks the pages whose values are no longer in the file as absent. If it finds rows that were
  // lost since its last call, it lowers the offset that dropped_from() returns.
  void DropDamaged() noexcept;
  // Returns an offset in the file of rows. All pages behind it were marked as absent.
  uint64_t dropped_from() const noexcept { return dropped_from_.load(); }

  // Copies the row if its page is in memory; the copy is never torn. Waits while the page is
  // locked.
  bool TryRead(int64_t row, std::byte* out) noexcept;
  // Writes a row. The caller must hold the lock of the row's page.
  void Write(int64_t row, const std::byte* from) noexcept;

 private:
  struct Range {
    uint64_t begin, end;
  };
  Range ValuesOf(uint64_t page) const noexcept;                       // byte range in values_
  Range StatesOf(uint64_t page, size_t state_floats) const noexcept;  // byte range in states_
  void Allocate(int fd, uint64_t offset, uint64_t bytes) const;
  ArrayMemory::Pages PagesFor(uint64_t bytes, uint64_t least_room, bool kept) const;
  std::unique_ptr<ArrayMemory> MemoryOf(const States& states, bool kept) const;
  void SetPromise(uint64_t bytes) noexcept;
  void ReducePromise(uint64_t bytes) noexcept;
  void CheckSizes() const;
  void CheckThere() const;
  UniqueFd OpenPart(const char* suffix, size_t bytes, bool kept) const;
  States OpenStates(size_t state_floats, bool kept) const;
  void AllocateStates(size_t state_floats, States& states) const;
  template <class F>
  void EachResident(const F& f) const;

  Shape shape_;
  const std::string name_;
  const std::string path_;  // prefix of its files; empty if there are none
  UniqueFd fd_, reader_fd_;
  size_t mapped_ = 0;
  struct Unmap {
    size_t bytes;
    void operator()(std::byte* base) const noexcept;
  };
  std::unique_ptr<std::byte, Unmap> mapping_{nullptr, {0}};  // outlives what guards and uses it
  std::atomic<uint64_t>* words_ = nullptr;
  std::byte* values_ = nullptr;
  HugeArray<uint64_t> lsns_;  // by page
  UniqueFd lsns_fd_;
  States states_;
  MappingGuard rows_guard_, lsns_guard_;
  mutable std::atomic<bool> shrunk_ = false;  // a file was found to have lost its size
  Mutex dropping_;
  std::atomic<uint64_t> dropped_from_ = 0;  // offset in the file of rows; pages behind are absent
  std::unique_ptr<ArrayMemory> value_memory_;
  // The bytes that a table with huge pages may still take. At first, these are as many for states
  // as for values.
  std::atomic<uint64_t> promise_ = 0;
};

}  // namespace graphd::store
