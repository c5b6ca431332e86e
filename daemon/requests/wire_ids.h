// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <capnp/blob.h>

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "graph/partition.h"
#include "graph/type_ids.h"
#include "wire/memory/buffer_pool.h"

// Functions and classes that check requests. The client is not trusted: values out of range are
// refused, and no memory is allocated beyond the limits.

namespace graphd {

// The largest number of ids in one request; clients split larger requests.
inline constexpr size_t kMaxIds = size_t{1} << 22;

// The ids of a request, copied out of the message: 4 bytes each while the type has < 2^32 objects,
// else 8. Immutable, so any thread may read them.
class WireIds {
 public:
  WireIds() = default;
  // Copies the ids. Throws Error(kInvalid) unless the bytes are whole ids, and Error(kOverloaded)
  // if there are more than kMaxIds.
  WireIds(capnp::Data::Reader data, int64_t type_count, BufferPool& pool);

  size_t size() const noexcept { return count_; }
  int64_t operator[](size_t i) const {
    if (narrow_) return reinterpret_cast<const uint32_t*>(buffer_.data())[i];
    return reinterpret_cast<const int64_t*>(buffer_.data())[i];
  }
  // Copies the ids at the places [begin, end), and checks that each is in 0..count-1.
  void Copy(size_t begin, size_t end, int64_t count, std::vector<int64_t>& out) const;
  // Writes the local rows of the ids at the places [begin, end), and checks that `part` owns each.
  void CopyRows(size_t begin, size_t end, const TypeIds& of, PartId part,
                std::vector<int64_t>& rows) const;

 private:
  PooledBuffer buffer_;
  size_t count_ = 0;
  bool narrow_ = true;
};

// Throws Error(kInvalid) unless 0 <= type < types; `what` is "node" or "edge".
void CheckType(int32_t type, int32_t types, const char* what);
// Throws Error(kOverloaded) if an answer has more than kMaxResponseBytes.
void CheckResponse(size_t bytes);

// Returns the feature that a request names. Throws Error(kInvalid) or Error(kNotFound).
const FeatureTable& FindFeature(const Partition& partition, bool is_edge, int32_t type,
                                const std::string& name);

// Returns the number of bytes in which all numbers up to `largest` fit: 1, 2 or 4.
uint8_t WidthFor(uint32_t largest);
// Writes each number in `width` bytes: 1, 2 or 4.
void WriteNarrow(std::span<const uint32_t> from, uint8_t width, kj::byte* to);

}  // namespace graphd
