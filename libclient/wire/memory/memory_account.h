// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <atomic>
#include <cstddef>
#include <memory>
#include <string>
#include <utility>

namespace graphd {

// An account of memory that peers make this process keep. Accounts form a tree: the account of a
// connection belongs to that of its job, which belongs to the account of all peers, which has a
// limit. Bytes are charged to an account and to all accounts above it. A charge is refused if the
// bytes of the account and of all accounts above it, added up, would exceed the limit. Therefore,
// if there is only one job, it gets at most half of the memory, and a single connection gets a
// third. The more others use, the less each of them gets, and a newcomer always finds some.
// (Choudhury and Hahne, "Dynamic queue length thresholds for shared-memory packet switches", 1998.)
// Thread-safe, without locks.
class MemoryAccount {
 public:
  // Creates the root of a tree. The text of its errors ends with `remedy`.
  MemoryAccount(std::string owner, size_t limit, std::string remedy)
      : owner_(std::move(owner)), remedy_(std::move(remedy)), limit_(limit), root_(this) {}
  // Creates an account below another one.
  MemoryAccount(std::string owner, std::shared_ptr<MemoryAccount> parent)
      : owner_(std::move(owner)), root_(parent->root_), parent_(std::move(parent)) {}
  // Returns a new account beside this one.
  std::shared_ptr<MemoryAccount> Sibling(std::string owner) const {
    return std::make_shared<MemoryAccount>(std::move(owner), parent_);
  }
  MemoryAccount(const MemoryAccount&) = delete;
  MemoryAccount& operator=(const MemoryAccount&) = delete;

  // Charges the bytes and returns true, or returns false if the charge is refused.
  bool TryCharge(size_t bytes) noexcept {
    if (ChargeAnyway(bytes) <= limit()) return true;
    Release(bytes);
    return false;
  }
  // Charges the bytes. If the charge is refused, throws Error(kOverloaded), which says who uses how
  // much of the limit.
  void Charge(size_t bytes) {
    if (!TryCharge(bytes)) Refuse(bytes);
  }
  // Charges the bytes even beyond the limit. Returns the sum of the bytes of this account and of
  // all above it.
  size_t ChargeAnyway(size_t bytes) noexcept {
    size_t sum = 0;
    for (MemoryAccount* at = this; at != nullptr; at = at->parent_.get()) {
      sum += at->used_.fetch_add(bytes, std::memory_order_relaxed) + bytes;
    }
    return sum;
  }
  void Release(size_t bytes) noexcept {
    for (MemoryAccount* at = this; at != nullptr; at = at->parent_.get()) {
      at->used_.fetch_sub(bytes, std::memory_order_relaxed);
    }
  }

  size_t used() const noexcept { return used_.load(std::memory_order_relaxed); }
  size_t limit() const noexcept { return root_->limit_.load(std::memory_order_relaxed); }
  // Sets the limit of all accounts of the tree. If it is lower than what is charged already, the
  // excess stays charged.
  void SetLimit(size_t limit) noexcept { root_->limit_.store(limit, std::memory_order_relaxed); }
  // Returns whether the bytes could be charged if the limit were only `part` of what it is.
  bool CanTake(size_t bytes, double part) const noexcept;
  // Returns whether the bytes could be charged if nothing else were charged.
  bool CouldEverTake(size_t bytes) const noexcept;
  // Throws the error of Charge().
  [[noreturn]] void Refuse(size_t bytes) const;

 private:
  const std::string owner_, remedy_;
  std::atomic<size_t> limit_{0};  // only the root's is used
  MemoryAccount* const root_;     // this, or kept alive by parent_
  const std::shared_ptr<MemoryAccount> parent_;
  std::atomic<size_t> used_{0};
};

// Bytes that are charged to an account until this is destroyed. Used by one thread at a time.
class MemoryCharge {
 public:
  MemoryCharge() = default;
  // If `account` is null, nothing is counted or refused.
  explicit MemoryCharge(std::shared_ptr<MemoryAccount> account) : account_(std::move(account)) {}
  MemoryCharge(MemoryCharge&& o) noexcept
      : account_(std::move(o.account_)), bytes_(std::exchange(o.bytes_, 0)) {}
  MemoryCharge& operator=(MemoryCharge&& o) noexcept {
    std::swap(account_, o.account_);
    std::swap(bytes_, o.bytes_);
    return *this;
  }
  ~MemoryCharge() { Set(0); }

  // Charges more bytes. Throws Error(kOverloaded).
  void Add(size_t bytes) {
    if (account_ == nullptr) return;
    account_->Charge(bytes);
    bytes_ += bytes;
  }
  // Charges more bytes even beyond the limit.
  void AddAnyway(size_t bytes) noexcept {
    if (account_ == nullptr) return;
    account_->ChargeAnyway(bytes);
    bytes_ += bytes;
  }
  // Lowers the charge to `bytes` in all; does nothing if it is not higher.
  void Set(size_t bytes) noexcept {
    if (account_ == nullptr || bytes >= bytes_) return;
    account_->Release(bytes_ - bytes);
    bytes_ = bytes;
  }
  size_t bytes() const noexcept { return bytes_; }

 private:
  std::shared_ptr<MemoryAccount> account_;
  size_t bytes_ = 0;
};

}  // namespace graphd
