// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <cstdint>
#include <optional>
#include <span>
#include <string>

#include "base/strings.h"
#include "graphd/tensor.h"

namespace graphd {

// Returns the bytes of an array with this dtype and these extents, which may be those of a message
// or a file. Returns nothing if an extent is negative, or if there are more than `most` bytes, also
// before later extents, which may be 0, are counted.
inline std::optional<uint64_t> ArrayBytes(DType dtype, std::span<const int64_t> extents,
                                          uint64_t most) {
  uint64_t bytes = DTypeSize(dtype);
  if (bytes > most) return {};
  for (const int64_t extent : extents) {
    if (extent < 0 || __builtin_mul_overflow(bytes, static_cast<uint64_t>(extent), &bytes) ||
        bytes > most) {
      return {};
    }
  }
  return bytes;
}

// Returns a shape as messages show it: "[2, 3]". A peer's shape may have millions of extents, so
// only the first ones are shown.
inline std::string ShapeText(std::span<const int64_t> extents) {
  constexpr size_t kMostShown = 16;
  std::string text = "[";
  for (size_t i = 0; i < extents.size() && i < kMostShown; i++) {
    text += StrCat(i == 0 ? "" : ", ", extents[i]);
  }
  return text + (extents.size() > kMostShown ? ", ...]" : "]");
}

}  // namespace graphd
