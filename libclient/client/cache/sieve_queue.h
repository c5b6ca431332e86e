// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <algorithm>
#include <cstdint>

namespace graphd {

// The order in which SIEVE evicts the rows of a set of at most 16 (Zhang et al., "SIEVE is Simpler
// than LRU", NSDI 2024): a queue by age, and a hand that moves from the oldest row to the newest.
// The hand passes over rows that were read since it last passed them, and evicts the first row that
// was not. A row that is read does not move, so that a hit changes at most one bit.
//
// A row is named by its way, which is the number of its slot in the set. The queue is a value of 10
// bytes, which lies in shared memory as two words. A damaged value leads to a wrong choice, but
// never to a way outside 0..15.
struct SieveQueue {
  static constexpr unsigned kMostRows = 16;

  uint64_t order = 0;  // ways, 4 bits each, the oldest in the lowest bits
  uint8_t size = 0;
  uint8_t hand = 0;  // position of the row that is looked at next; if it is `size`, the oldest row

  // Appends a way, which is not in the queue, as the newest. Requires: size < kMostRows.
  void Insert(unsigned way) noexcept {
    // A hand that has passed the newest row begins again at the oldest.
    if (hand >= size) hand = 0;
    order |= uint64_t{way & 15} << (4 * (size & 15));
    size++;
  }

  // Removes the row to evict and returns its way. `visited` has a bit for each way that was read;
  // the bits of those that the hand passes over are cleared. Requires: size > 0.
  unsigned Evict(uint32_t& visited) noexcept {
    unsigned at = hand < size ? hand : 0;
    while ((visited >> WayAt(at) & 1) != 0) {
      visited &= ~(1U << WayAt(at));
      at = at + 1U < size ? at + 1U : 0;
    }
    const unsigned way = WayAt(at);
    Remove(at);
    hand = static_cast<uint8_t>(at);
    if (hand >= size) hand = 0;
    return way;
  }

  // Removes a way, if it is in the queue.
  void Erase(unsigned way) noexcept {
    for (unsigned at = 0; at < size; at++) {
      if (WayAt(at) != way) continue;
      Remove(at);
      if (hand > at) hand--;
      return;
    }
  }

 private:
  unsigned WayAt(unsigned position) const noexcept { return order >> (4 * position) & 15; }
  void Remove(unsigned position) noexcept {
    const uint64_t below = order & ((uint64_t{1} << (4 * position)) - 1);
    const uint64_t above = position == kMostRows - 1 ? 0 : order >> (4 * (position + 1));
    order = below | above << (4 * position);
    size--;
  }
};

}  // namespace graphd
