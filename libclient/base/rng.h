// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <cstdint>

// Counter-based random numbers: a stream is a pure function of its key, so a sample does not depend
// on the thread, process or machine that draws it. The mixer is SplitMix64's finaliser (Steele,
// Lea, Flood, "Fast splittable pseudorandom number generators", OOPSLA 2014). Bounded draws are
// Lemire's multiply-shift with rejection ("Fast random integer generation in an interval", 2019),
// which is unbiased.

namespace graphd {

inline uint64_t Mix64(uint64_t x) noexcept {
  x = (x ^ (x >> 30)) * 0xbf58476d1ce4e5b9ULL;
  x = (x ^ (x >> 27)) * 0x94d049bb133111ebULL;
  return x ^ (x >> 31);
}

inline constexpr uint64_t kRngStep = 0x9e3779b97f4a7c15ULL;

// Combines two keys into one; their order matters.
inline uint64_t CombineKeys(uint64_t a, uint64_t b) noexcept {
  return Mix64(a ^ (Mix64(b + kRngStep) + kRngStep + (a << 6)));
}

// The random stream of one key. Not thread-safe; it fits into a few registers and is meant to live
// on the stack.
class CounterRng {
 public:
  explicit CounterRng(uint64_t key) noexcept : state_(key) {}

  uint64_t Next() noexcept { return Mix64(state_ += kRngStep); }
  // Returns the number that Next returns after `skipped` calls, in the stream of this key.
  static uint64_t At(uint64_t key, uint64_t skipped) noexcept {
    return Mix64(key + (skipped + 1) * kRngStep);
  }

  // Returns a uniform integer in [0, bound); bound >= 1.
  uint64_t Below(uint64_t bound) noexcept {
    if (bound <= UINT32_MAX) {
      const uint32_t small = static_cast<uint32_t>(bound);
      uint64_t product = (Next() >> 32) * small;
      if (static_cast<uint32_t>(product) < small) {
        const uint32_t threshold = (0u - small) % small;
        while (static_cast<uint32_t>(product) < threshold) product = (Next() >> 32) * small;
      }
      return product >> 32;
    }
    return BelowWide(bound);
  }

 private:
  // A function of its own, so that the compiler inlines Below.
  [[gnu::noinline]] uint64_t BelowWide(uint64_t bound) noexcept {
    __extension__ typedef unsigned __int128 Wide;
    Wide product = static_cast<Wide>(Next()) * bound;
    if (static_cast<uint64_t>(product) < bound) {
      const uint64_t threshold = (0 - bound) % bound;
      while (static_cast<uint64_t>(product) < threshold) {
        product = static_cast<Wide>(Next()) * bound;
      }
    }
    return static_cast<uint64_t>(product >> 64);
  }

  uint64_t state_;
};

}  // namespace graphd
