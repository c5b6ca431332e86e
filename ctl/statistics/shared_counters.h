// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <vector>

namespace graphd::ctl {

// Counters that several threads may increment at the same time. Each counter takes 4 bytes if the
// largest possible count fits into 4 bytes, and otherwise 8 bytes.
class SharedCounters {
 public:
  // `most`: the largest count that is possible.
  SharedCounters(size_t size, uint64_t most) {
    most <= UINT32_MAX ? narrow_.resize(size) : wide_.resize(size);
  }
  // Returns the memory in bytes that an object constructed with these arguments takes.
  static uint64_t Bytes(uint64_t size, uint64_t most) {
    return size * (most <= UINT32_MAX ? 4 : 8);
  }

  size_t size() const noexcept { return narrow_.size() + wide_.size(); }
  void Increment(size_t i) noexcept {
    if (wide_.empty()) {
      std::atomic_ref(narrow_[i]).fetch_add(1, std::memory_order_relaxed);
    } else {
      std::atomic_ref(wide_[i]).fetch_add(1, std::memory_order_relaxed);
    }
  }
  // Returns a count. Requires: no thread increments any more.
  uint64_t operator[](size_t i) const noexcept { return wide_.empty() ? narrow_[i] : wide_[i]; }

 private:
  std::vector<uint32_t> narrow_;
  std::vector<uint64_t> wide_;
};

// A set of small numbers, to which several threads may add at the same time. It has one bit for
// each possible number.
class SharedSet {
 public:
  explicit SharedSet(size_t size = 0) : words_((size + 63) / 64) {}
  static uint64_t Bytes(uint64_t size) { return (size + 63) / 64 * 8; }

  // Adds a number. Returns whether it is new.
  bool Add(size_t i) noexcept {
    const std::atomic_ref word(words_[i / 64]);
    const uint64_t bit = uint64_t{1} << (i % 64);
    if (word.load(std::memory_order_relaxed) & bit) return false;
    return !(word.fetch_or(bit, std::memory_order_relaxed) & bit);
  }
  // Returns whether the set has a number. Requires: no thread adds any more.
  bool Has(size_t i) const noexcept { return words_[i / 64] >> (i % 64) & 1; }
  void Clear() noexcept { words_.assign(words_.size(), 0); }

 private:
  std::vector<uint64_t> words_;
};

}  // namespace graphd::ctl
