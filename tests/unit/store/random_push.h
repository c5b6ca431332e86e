// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <vector>

#include "base/rng.h"
#include "store/rows/push.h"

namespace graphd::store {

// A push of random gradients for random rows in [begin, end). It is a function of its client and
// sequence number, so that a test can create it again to verify its effect.
class RandomPush {
 public:
  RandomPush(uint64_t client, uint64_t sequence, const UpdateRule& rule, size_t count,
             int64_t begin, int64_t end, size_t elements)
      : rows_(count), values_(count * elements) {
    CounterRng rng(CombineKeys(client, sequence));
    for (int64_t& row : rows_) {
      row = begin + static_cast<int64_t>(rng.Below(static_cast<uint64_t>(end - begin)));
    }
    for (float& value : values_) value = static_cast<float>(rng.Below(2001)) / 1000 - 1;
    push_.rule = rule;
    push_.client = {client, 0};
    push_.sequence = sequence;
    push_.rows = rows_;
    push_.payload = std::as_bytes(std::span(values_));
  }
  RandomPush(const RandomPush&) = delete;
  RandomPush& operator=(const RandomPush&) = delete;
  const Push& push() const { return push_; }

 private:
  std::vector<int64_t> rows_;
  std::vector<float> values_;
  Push push_;
};

}  // namespace graphd::store
