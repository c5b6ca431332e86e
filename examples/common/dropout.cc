// SPDX-License-Identifier: Apache-2.0
#include "common/dropout.h"

#include <algorithm>
#include <cmath>
#include <cstddef>

namespace examples {
namespace {

constexpr size_t kPerWord = 4;  // 16-bit decisions

// SplitMix64 (Steele, Lea, Flood 2014).
inline uint64_t Mix(uint64_t z) {
  z += 0x9e3779b97f4a7c15u;
  z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9u;
  z = (z ^ (z >> 27)) * 0x94d049bb133111ebu;
  return z ^ (z >> 31);
}

}  // namespace

void Dropout(uint64_t key, double p, std::span<const float> in, std::span<float> out) {
  const auto threshold = static_cast<uint32_t>(std::lround(std::min(p, 65535.0 / 65536) * 65536));
  const float scale = 65536.0f / static_cast<float>(65536 - threshold);
  const uint64_t start = Mix(key);
  for (size_t i = 0; i < in.size(); i += kPerWord) {
    uint64_t bits = Mix(start + i);
    const size_t end = std::min(i + kPerWord, in.size());
    for (size_t j = i; j < end; ++j, bits >>= 16) {
      out[j] = (bits & 0xffff) >= threshold ? in[j] * scale : 0.0f;
    }
  }
}

}  // namespace examples
