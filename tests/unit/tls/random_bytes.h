// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <cstddef>
#include <cstdint>
#include <random>

namespace graphd::testing {

// Returns a container of random bytes, which are the same for the same seed.
template <class Container>
Container RandomBytes(size_t count, uint64_t seed) {
  std::mt19937_64 random(seed);
  Container bytes(count, typename Container::value_type{});
  for (auto& each : bytes) each = static_cast<typename Container::value_type>(random());
  return bytes;
}

}  // namespace graphd::testing
