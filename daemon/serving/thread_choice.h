// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <cstddef>
#include <vector>

namespace graphd {

// Spreads connections over threads: a new one goes to a thread with the fewest open ones. Among
// these, the threads take turns, beginning with another one in each round. Otherwise, if each
// client had two connections of which only the first is busy, one half of the threads would get all
// the busy ones. Owned and used by the main thread.
class ThreadChoice {
 public:
  // `threads` is at least 1.
  explicit ThreadChoice(size_t threads) : open_(threads) {}

  // Returns the number of the thread for a new connection.
  size_t Open();
  // Notes that a connection of the thread is closed.
  void Close(size_t thread) { open_[thread]--; }

 private:
  std::vector<size_t> open_;
  size_t opened_ = 0;
};

}  // namespace graphd
