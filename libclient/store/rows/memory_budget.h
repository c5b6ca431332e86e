// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <atomic>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "base/threads/mutex.h"
#include "graphd/error.h"

// The memory budget of all tables of a store. Memory is allocated from it before a page is loaded.
// If none is left, clean pages that no push has pinned are evicted (by the CLOCK algorithm). If
// there are no such pages, the caller waits until pages are written back. A push reserves the
// memory of all its pages before it pins the first, so that a push that waits holds no memory for
// which another push waits. Thread-safe.

namespace graphd::store {

// A table whose pages can be evicted.
class Evictable {
 public:
  enum class Outcome {
    kEvicted,
    kKept,   // the page is absent, in use, or was referenced since the last call for it
    kDirty,  // the page must be written back first
  };
  virtual ~Evictable() = default;
  virtual uint64_t evictable_pages() const noexcept = 0;
  // Evicts the page if it is clean and not in use. Does not wait. Sets `freed` to the bytes that
  // it frees.
  virtual Outcome Evict(uint64_t page, uint64_t& freed) noexcept = 0;
};

class MemoryBudget {
 public:
  // A `limit` of 0 means that memory is not bounded.
  explicit MemoryBudget(uint64_t limit) : limit_(limit) {}
  MemoryBudget(const MemoryBudget&) = delete;
  MemoryBudget& operator=(const MemoryBudget&) = delete;

  bool bounded() const noexcept { return limit_ != 0; }
  uint64_t used() const noexcept { return used_.load(std::memory_order_relaxed); }

  // Sets the function that is called, without mutex_, when pages should be written back. It writes
  // them back, or makes another thread do so. CleanDone must be called at the end of each such
  // write-back. Not thread-safe.
  void SetCleaner(std::function<void()> clean) { clean_ = std::move(clean); }
  // Reports the end of a write-back. `error` is the reason why pages could not be written back, or
  // null. Calls of Allocate that wait for memory throw this error.
  void CleanDone(const Error* error);
  // Reports that pages were written back, or are no longer in use.
  void Changed() noexcept;

  void Add(Evictable* table);
  void Remove(Evictable* table);

  // Memory that was allocated from the budget and is not yet used. The destructor frees the rest.
  class Allocation {
   public:
    Allocation(MemoryBudget* budget, uint64_t bytes) : budget_(budget), bytes_(bytes) {}
    Allocation(Allocation&& o) noexcept : budget_(o.budget_), bytes_(std::exchange(o.bytes_, 0)) {}
    Allocation& operator=(Allocation&&) = delete;
    ~Allocation() { budget_->Free(bytes_); }
    // Marks bytes as used by a page. Using slightly more than is left is allowed.
    void Use(uint64_t bytes) noexcept;

   private:
    MemoryBudget* budget_;
    uint64_t bytes_;
  };
  // Allocates memory from the budget: evicts pages, and waits until there is enough. More than the
  // whole budget is allocated only when nothing else is allocated. Throws Error, naming `table`:
  // kOverloaded if there is no progress for a minute, or the error of a write-back.
  Allocation Allocate(uint64_t bytes, const std::string& table);
  // Allocates memory without waiting. Returns nothing if that would use the last eighth of the
  // budget.
  std::optional<Allocation> TryAllocate(uint64_t bytes);
  void Free(uint64_t bytes) noexcept;
  // Allocates memory without waiting, even beyond the budget; the next Allocate then evicts pages.
  void ForceAllocate(uint64_t bytes) noexcept;

  // Waits, in order of arrival, until the pages of a push, `bytes` in total, fit together with the
  // pages of all pushes being applied, and reserves the memory for them. Throws Error(kOverloaded)
  // if they never fit, or if there is no progress for a minute.
  void Reserve(uint64_t bytes, size_t pages, const std::string& table);
  void Unreserve(uint64_t bytes) noexcept;

 private:
  bool Fits(uint64_t bytes) const noexcept;
  bool Evict(uint64_t bytes);

  const uint64_t limit_;
  std::function<void()> clean_;

  Mutex clock_mutex_ GRAPHD_ACQUIRED_BEFORE(mutex_){Mutex::kHeldLong};
  std::vector<Evictable*> tables_ GRAPHD_GUARDED_BY(clock_mutex_);
  size_t hand_table_ GRAPHD_GUARDED_BY(clock_mutex_) = 0;
  uint64_t hand_page_ GRAPHD_GUARDED_BY(clock_mutex_) = 0;

  mutable Mutex mutex_;
  CondVar changed_;
  std::atomic<uint64_t> used_ = 0;  // changed while mutex_ is held, and read without it
  uint64_t reserved_ GRAPHD_GUARDED_BY(mutex_) = 0;
  uint64_t changes_ GRAPHD_GUARDED_BY(mutex_) = 0;
  uint64_t failures_ GRAPHD_GUARDED_BY(mutex_) = 0;
  std::unique_ptr<Error> failure_ GRAPHD_GUARDED_BY(mutex_);  // error of the last CleanDone
  uint64_t next_ticket_ GRAPHD_GUARDED_BY(mutex_) = 0;
  // Tickets of waiting calls of Reserve.
  std::set<uint64_t> tickets_ GRAPHD_GUARDED_BY(mutex_);
};

}  // namespace graphd::store
