// SPDX-License-Identifier: Apache-2.0
#include "daemon/serving/thread_choice.h"

namespace graphd {

size_t ThreadChoice::Open() {
  const size_t threads = open_.size();
  const size_t first = (opened_ + opened_ / threads) % threads;
  opened_++;
  size_t best = first;
  for (size_t i = 1; i < threads; i++) {
    const size_t other = (first + i) % threads;
    if (open_[other] < open_[best]) best = other;
  }
  open_[best]++;
  return best;
}

}  // namespace graphd
