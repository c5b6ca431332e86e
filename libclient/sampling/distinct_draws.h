// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <cstdint>
#include <vector>

#include "base/rng.h"

namespace graphd {

// A drawer of numbers 0..n-1 without repetition. The time is O(draws) for any n, and memory is
// reused. Draws are recorded in one byte per candidate, which is cleared afterwards, or in a hash
// table if there are too many candidates. Not thread-safe.
class DistinctDraws {
 public:
  // Writes `count` <= n distinct numbers to `drawn`. Every set of numbers is equally likely, but
  // their order is not random. This is R. Floyd's algorithm (Bentley and Floyd, "A sample of
  // brilliance", CACM 1987).
  void Floyd(CounterRng& rng, uint64_t n, uint64_t count, uint64_t* drawn);

  // The functions below record draws that the caller makes. Start takes the number `n` of
  // candidates and a guess of the number of draws, which may exceed n. Insert records a draw, and
  // returns false if the number was drawn before. Finish must be called before the next Start or
  // Floyd.
  void Start(uint64_t n, uint64_t expected);
  bool Insert(uint64_t value) {
    if (!hashed_) {
      if (tracker_[value]) [[unlikely]]
        return false;
      tracker_[value] = 1;
      drawn_.push_back(value);
      return true;
    }
    return InsertHashed(value);
  }
  bool Contains(uint64_t value) const noexcept;
  void Finish() noexcept;

 private:
  void FloydInTable(CounterRng& rng, uint64_t n, uint64_t count, uint64_t* drawn);
  void FloydInWord(CounterRng& rng, uint64_t n, uint64_t count, uint64_t* drawn);
  bool InsertHashed(uint64_t value);
  bool InsertInTable(uint64_t value);

  bool hashed_ = false;
  std::vector<uint8_t> tracker_;  // all zero between uses
  std::vector<uint64_t> table_;   // open addressing
  std::vector<uint64_t> drawn_;
};

}  // namespace graphd
