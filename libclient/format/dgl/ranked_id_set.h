// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <bit>
#include <cstdint>
#include <vector>

namespace graphd {

// A set of ids from 0..bound-1. It counts its members below a given id in constant time, and takes
// a quarter of a byte per possible id. First insert all ids, then call Count() once, then call
// size() and Rank(). Not thread-safe while it is filled.
class RankedIdSet {
 public:
  explicit RankedIdSet(int64_t bound) : words_(static_cast<size_t>((bound + 63) / 64)) {}

  bool Contains(int64_t id) const { return words_[Word(id)] & Bit(id); }
  // Inserts an id. Returns whether it is new.
  bool Insert(int64_t id) {
    uint64_t& word = words_[Word(id)];
    const bool is_new = !(word & Bit(id));
    word |= Bit(id);
    return is_new;
  }

  void Count() {
    before_.resize(words_.size());
    size_ = 0;
    for (size_t i = 0; i < words_.size(); i++) {
      before_[i] = size_;
      size_ += std::popcount(words_[i]);
    }
  }
  int64_t size() const noexcept { return size_; }
  int64_t Rank(int64_t id) const {
    const size_t i = Word(id);
    return before_[i] + std::popcount(words_[i] & (Bit(id) - 1));
  }

 private:
  static size_t Word(int64_t id) { return static_cast<size_t>(id) / 64; }
  static uint64_t Bit(int64_t id) { return uint64_t{1} << (id % 64); }

  std::vector<uint64_t> words_;
  std::vector<int64_t> before_;  // [word]: members in the words before
  int64_t size_ = 0;
};

}  // namespace graphd
