// SPDX-License-Identifier: Apache-2.0
#include "base/row_access.h"

#include <immintrin.h>

#include "base/processor.h"

namespace graphd {
namespace {

// Copies 16 bytes at a time. If the row is not a multiple of 16 bytes, the last piece overlaps the
// one before.
void CopyBy16(const std::byte* from, std::byte* to, size_t bytes) noexcept {
  const auto piece = [&](size_t at) {
    _mm_storeu_si128(reinterpret_cast<__m128i*>(to + at),
                     _mm_loadu_si128(reinterpret_cast<const __m128i*>(from + at)));
  };
  for (size_t i = 0; i + 16 <= bytes; i += 16) piece(i);
  if (bytes % 16 != 0) piece(bytes - 16);
}

__attribute__((target("avx2"))) void CopyBy32(const std::byte* from, std::byte* to,
                                              size_t bytes) noexcept {
  size_t i = 0;
  for (; i + 64 <= bytes; i += 64) {
    const __m256i a = _mm256_loadu_si256(reinterpret_cast<const __m256i*>(from + i));
    const __m256i b = _mm256_loadu_si256(reinterpret_cast<const __m256i*>(from + i + 32));
    _mm256_storeu_si256(reinterpret_cast<__m256i*>(to + i), a);
    _mm256_storeu_si256(reinterpret_cast<__m256i*>(to + i + 32), b);
  }
  for (; i < bytes; i += 32) {
    const size_t at = i + 32 <= bytes ? i : bytes - 32;
    _mm256_storeu_si256(reinterpret_cast<__m256i*>(to + at),
                        _mm256_loadu_si256(reinterpret_cast<const __m256i*>(from + at)));
  }
}

}  // namespace

void CopyRow(const std::byte* from, std::byte* to, size_t bytes) noexcept {
  asm volatile("" ::: "memory");
  if (kVectorBits >= 256) {
    CopyBy32(from, to, bytes);
  } else {
    CopyBy16(from, to, bytes);
  }
  asm volatile("" ::: "memory");
}

}  // namespace graphd
