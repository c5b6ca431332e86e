// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <algorithm>
#include <cstdint>
#include <functional>
#include <vector>

#include "graphd/tensor.h"

// Masks for tests, and checks of the resulting shares.

namespace graphd::testing {

using Ids = std::vector<int64_t>;

inline Tensor Mask(size_t size, const std::function<bool(size_t)>& is_set,
                   DType dtype = DType::kUInt8) {
  Tensor mask = Tensor::Empty(dtype, {static_cast<int64_t>(size)});
  for (size_t i = 0; i < size; i++) mask.data()[i] = std::byte{is_set(i) ? uint8_t{1} : uint8_t{0}};
  return mask;
}

inline Ids SetIn(const Tensor& mask) {
  Ids ids;
  for (int64_t i = 0; i < mask.num_rows(); i++) {
    if (mask.data()[i] != std::byte{0}) ids.push_back(i);
  }
  return ids;
}

// Returns the difference between the largest and the smallest size.
inline size_t Spread(const std::vector<Ids>& pieces) {
  const auto [least, most] = std::minmax_element(
      pieces.begin(), pieces.end(), [](const Ids& a, const Ids& b) { return a.size() < b.size(); });
  return most->size() - least->size();
}

}  // namespace graphd::testing
