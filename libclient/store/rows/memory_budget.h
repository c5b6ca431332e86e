// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <atomic>
#include <condition_variable>
#include <cstdint>
#include <functional>
#include <memory>
#include <mutex>
#include <optional>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "graphd/error.h"

// The bound of the memory that all tables of a store take. Whoever brings a page in takes memory
// first; where there is none, pages that are not in use and whose changes are in RocksDB go, those
// first that have not been touched for long (the CLOCK algorithm); where there are none of these,
// it waits until some are written back. A push pledges the memory of all its pages before it pins
// the first, so pushes that wait hold nothing that another one waits for. Thread-safe.

namespace graphd::store {

// What has pages that can go.
class Evictable {
 public:
  enum class Outcome {
    kEvicted,
    kKept,   // absent, in use, or touched since it was asked for last
    kDirty,  // must be written back first
  };
  virtual ~Evictable() = default;
  virtual uint64_t evictable_pages() const noexcept = 0;
  // Does not wait. Gives what it frees to `freed`, in bytes.
  virtual Outcome Evict(uint64_t page, uint64_t& freed) noexcept = 0;
};

class MemoryBudget {
 public:
  // 0: no bound.
  explicit MemoryBudget(uint64_t limit) : limit_(limit) {}
  MemoryBudget(const MemoryBudget&) = delete;
  MemoryBudget& operator=(const MemoryBudget&) = delete;

  bool bounded() const noexcept { return limit_ != 0; }
  uint64_t used() const noexcept { return used_.load(std::memory_order_relaxed); }

  // `clean` is called, without locks, when pages should be written back; it may do that itself or
  // have it done, and CleanDone follows each time. Not while others use this.
  void SetCleaner(std::function<void()> clean) { clean_ = std::move(clean); }
  // `error`: why pages could not be written back; who waits for them is told.
  void CleanDone(const Error* error);
  // Pages were written back, or are no longer in use.
  void Changed() noexcept;

  void Add(Evictable* table);
  void Remove(Evictable* table);

  // Memory that was taken and is not yet used; what is left is given back.
  class Room {
   public:
    Room(MemoryBudget* bound, uint64_t bytes) : bound_(bound), bytes_(bytes) {}
    Room(Room&& o) noexcept : bound_(o.bound_), bytes_(std::exchange(o.bytes_, 0)) {}
    Room& operator=(Room&&) = delete;
    ~Room() { bound_->Give(bytes_); }
    // Somewhat more than there is left is not refused.
    void Use(uint64_t bytes) noexcept;

   private:
    MemoryBudget* bound_;
    uint64_t bytes_;
  };
  // Waits for memory. What is larger than the bound gets it when nothing else is there. Throws
  // Error with `table`'s name: kOverloaded if nothing goes on for a minute, or why pages can't be
  // written back.
  Room Take(uint64_t bytes, const std::string& table);
  // Nothing if it would take the last eighth.
  std::optional<Room> TryTake(uint64_t bytes);
  void Give(uint64_t bytes) noexcept;
  // Regardless of the bound; the next Take makes up for it.
  void Force(uint64_t bytes) noexcept;

  // Waits, first come, first served, until the pages of all pushes in work fit together with these.
  // Throws Error(kOverloaded) if they never will, or nothing goes on for a minute.
  void Reserve(uint64_t bytes, size_t pages, const std::string& table);
  void Unreserve(uint64_t bytes) noexcept;

 private:
  bool Fits(uint64_t bytes) const noexcept;
  bool Evict(uint64_t bytes);

  const uint64_t limit_;
  std::function<void()> clean_;

  std::mutex clock_mutex_;  // before mutex_; guards tables_ and the hand
  std::vector<Evictable*> tables_;
  size_t hand_table_ = 0;
  uint64_t hand_page_ = 0;

  mutable std::mutex mutex_;  // guards the rest; used_ is changed under it
  std::condition_variable changed_;
  std::atomic<uint64_t> used_ = 0;
  uint64_t reserved_ = 0;
  uint64_t changes_ = 0, failures_ = 0;
  std::unique_ptr<Error> failure_;  // of the last CleanDone
  uint64_t next_ticket_ = 0;
  std::set<uint64_t> tickets_;  // of those who wait to pledge
};

}  // namespace graphd::store
