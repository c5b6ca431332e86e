// SPDX-License-Identifier: Apache-2.0
#include "store/rows/memory_budget.h"

#include <algorithm>
#include <chrono>

#include "base/strings.h"

namespace graphd::store {
namespace {

constexpr auto kTimeout = std::chrono::seconds(60);
// The interval at which a waiting call tries again to evict pages.
constexpr auto kPollInterval = std::chrono::milliseconds(20);

}  // namespace

void MemoryBudget::CleanDone(const Error* error) {
  const MutexLock lock(mutex_);
  failure_ = error == nullptr ? nullptr : std::make_unique<Error>(*error);
  if (error != nullptr) failures_++;
  changed_.NotifyAll();
}

void MemoryBudget::Changed() noexcept {
  const MutexLock lock(mutex_);
  changes_++;
  changed_.NotifyAll();
}

void MemoryBudget::Add(Evictable* table) {
  const MutexLock lock(clock_mutex_);
  tables_.push_back(table);
}

void MemoryBudget::Remove(Evictable* table) {
  const MutexLock lock(clock_mutex_);
  std::erase(tables_, table);
}

void MemoryBudget::Allocation::Use(uint64_t bytes) noexcept {
  if (bytes > bytes_) budget_->ForceAllocate(bytes - bytes_);
  bytes_ -= std::min(bytes, bytes_);
}

void MemoryBudget::Free(uint64_t bytes) noexcept {
  if (bytes == 0) return;
  const MutexLock lock(mutex_);
  used_ -= bytes;
  changes_++;
  changed_.NotifyAll();
}

void MemoryBudget::ForceAllocate(uint64_t bytes) noexcept {
  const MutexLock lock(mutex_);
  used_ += bytes;
}

bool MemoryBudget::Fits(uint64_t bytes) const noexcept {
  return limit_ == 0 || used() + bytes <= limit_ || used() == 0;
}

std::optional<MemoryBudget::Allocation> MemoryBudget::TryAllocate(uint64_t bytes) {
  const MutexLock lock(mutex_);
  if (limit_ != 0 && used() + bytes > limit_ - limit_ / 8) return {};
  used_ += bytes;
  return Allocation(this, bytes);
}

MemoryBudget::Allocation MemoryBudget::Allocate(uint64_t bytes, const std::string& table) {
  using Clock = std::chrono::steady_clock;
  MutexLock lock(mutex_);
  const uint64_t failures = failures_;
  std::optional<uint64_t> asked_at;
  auto deadline = Clock::now() + kTimeout;
  while (!Fits(bytes)) {
    const uint64_t seen = changes_;
    lock.Unlock();
    if (!Evict(bytes) && asked_at != seen) {
      asked_at = seen;
      clean_();
    }
    lock.Lock();
    const auto poll = Clock::now() + kPollInterval;
    while (changes_ == seen && failures_ == failures && !Fits(bytes) &&
           changed_.WaitUntil(mutex_, poll)) {
    }
    if (changes_ != seen) {
      deadline = Clock::now() + kTimeout;
    } else if (failures_ != failures && failure_ != nullptr) {
      Throw(failure_->code(), table, ": its memory is full, ", HumanBytes(limit_),
            " for all tables, and changed pages can't be written back: ", failure_->what());
    } else if (Clock::now() > deadline) {
      Throw(ErrorCode::kOverloaded, table, ": no memory for another ", HumanBytes(bytes),
            " within the limit of ", HumanBytes(limit_),
            ": everything is in use; try again, or raise the limit");
    }
  }
  used_ += bytes;
  return {this, bytes};
}

// Evicts pages until there is room for `bytes`. Returns whether it has freed memory. The clock's
// hand goes round twice at most, because the first round clears the marks of referenced pages.
bool MemoryBudget::Evict(uint64_t bytes) {
  const MutexLock clock(clock_mutex_);
  uint64_t pages = 0, freed = 0, dirty = 0, evicted = 0;
  for (const Evictable* table : tables_) pages += table->evictable_pages();
  // Slightly more is evicted than is needed, so that not every load of a page needs an eviction.
  const uint64_t ahead = bytes + limit_ / 64;
  for (uint64_t left = 2 * pages; left > 0 && used() + ahead > limit_; left--) {
    while (hand_table_ >= tables_.size() || hand_page_ >= tables_[hand_table_]->evictable_pages()) {
      hand_page_ = 0;
      hand_table_ = hand_table_ + 1 < tables_.size() ? hand_table_ + 1 : 0;
    }
    uint64_t given = 0;
    const Evictable::Outcome outcome = tables_[hand_table_]->Evict(hand_page_++, given);
    if (outcome == Evictable::Outcome::kDirty) dirty++;
    if (outcome == Evictable::Outcome::kEvicted) evicted++;
    Free(given);
    freed += given;
  }
  if (dirty > evicted && evicted != 0) clean_();  // early, so that later callers need not wait
  return freed != 0;
}

void MemoryBudget::Reserve(uint64_t bytes, size_t pages, const std::string& table) {
  if (bytes > limit_ && pages > 1) {
    Throw(ErrorCode::kOverloaded, table, ": a push to ", pages, " pages needs ", HumanBytes(bytes),
          " at once, more than all tables may have (", HumanBytes(limit_),
          "); send fewer rows at once, or raise the limit");
  }
  const MutexLock lock(mutex_);
  const uint64_t ticket = next_ticket_++;
  tickets_.insert(ticket);
  const auto mine = [&]() GRAPHD_REQUIRES(mutex_) {
    return *tickets_.begin() == ticket && (reserved_ + bytes <= limit_ || reserved_ == 0);
  };
  while (!mine()) {
    const uint64_t seen = changes_;
    const auto deadline = std::chrono::steady_clock::now() + kTimeout;
    while (changes_ == seen && !mine() && changed_.WaitUntil(mutex_, deadline)) {
    }
    if (changes_ == seen && !mine()) {
      tickets_.erase(ticket);
      changed_.NotifyAll();
      Throw(ErrorCode::kOverloaded, table, ": pushes being applied use all the memory, ",
            HumanBytes(limit_), ", and make no progress; try again");
    }
  }
  tickets_.erase(ticket);
  reserved_ += bytes;
  changed_.NotifyAll();
}

void MemoryBudget::Unreserve(uint64_t bytes) noexcept {
  if (bytes == 0) return;
  const MutexLock lock(mutex_);
  reserved_ -= bytes;
  changes_++;
  changed_.NotifyAll();
}

}  // namespace graphd::store
