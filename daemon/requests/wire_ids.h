// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <capnp/blob.h>

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "graph/partition.h"
#include "wire/buffer_pool.h"

// What requests are checked by. The client is not trusted: whatever it says is out of range is
// refused, and nothing is allocated beyond the bounds.

namespace graphd {

// Ids in one request (clients cut larger ones).
inline constexpr size_t kMaxIds = size_t{1} << 22;

// Ids as they came, copied out of the message: 4 bytes each while the type has < 2^32 objects.
class WireIds {
 public:
  // Throws Error(kInvalid) for bytes that are no whole ids, Error(kOverloaded) for too many.
  WireIds(capnp::Data::Reader data, int64_t type_count, BufferPool& pool);

  size_t size() const noexcept { return count_; }
  int64_t operator[](size_t i) const {
    if (narrow_) return reinterpret_cast<const uint32_t*>(buffer_.data())[i];
    return reinterpret_cast<const int64_t*>(buffer_.data())[i];
  }
  // Ids [begin, end), each checked to be in 0..count-1.
  void Copy(size_t begin, size_t end, int64_t count, std::vector<int64_t>& out) const;
  // Local rows of ids [begin, end), each checked to be owned by `part`.
  void CopyRows(size_t begin, size_t end, const IdMap& map, PartId part, int32_t type,
                std::vector<int64_t>& rows) const;

 private:
  PooledBuffer buffer_;
  size_t count_ = 0;
  bool narrow_ = true;
};

// Throws Error(kInvalid) unless 0 <= type < types; `what` is "node" or "edge".
void CheckType(int32_t type, int32_t types, const char* what);
// Throws Error(kOverloaded) for an answer of more than kMaxResponseBytes.
void CheckResponse(size_t bytes);

// The feature that a request names. Throws Error(kInvalid), Error(kNotFound).
const Tensor& FindFeature(const Partition& partition, bool is_edge, int32_t type,
                          const std::string& name);

// Bytes that hold numbers up to `largest`: 1, 2 or 4.
uint8_t WidthFor(uint32_t largest);
// Writes numbers in 1, 2 or 4 bytes each.
void WriteNarrow(std::span<const uint32_t> from, uint8_t width, kj::byte* to);

}  // namespace graphd
