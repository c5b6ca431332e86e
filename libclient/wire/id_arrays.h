// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <capnp/blob.h>

#include <cstring>
#include <span>

// Arrays of ids in messages: little-endian, packed, `width` (4 or 8) bytes each.

namespace graphd {

inline void WriteIds(std::span<const int64_t> ids, size_t width, capnp::Data::Builder out) {
  if (ids.empty()) return;
  if (width == 8) {
    std::memcpy(out.begin(), ids.data(), ids.size_bytes());
    return;
  }
  auto* to = reinterpret_cast<uint32_t*>(out.begin());
  for (size_t i = 0; i < ids.size(); i++) to[i] = static_cast<uint32_t>(ids[i]);
}

inline void ReadIds(capnp::Data::Reader in, size_t width, int64_t* out, size_t count) {
  if (count == 0) return;
  if (width == 8) {
    std::memcpy(out, in.begin(), count * 8);
    return;
  }
  const auto* from = reinterpret_cast<const uint32_t*>(in.begin());
  for (size_t i = 0; i < count; i++) out[i] = from[i];
}

}  // namespace graphd
