// SPDX-License-Identifier: Apache-2.0
#include "graph/encoding.h"

#include <cmath>
#include <cstring>

#include "base/processor.h"
#include "base/strings.h"
#include "graph/decode.h"

namespace graphd {
namespace {

bool IsNarrowInteger(DType dtype) {
  switch (dtype) {
    case DType::kUInt8:
    case DType::kInt8:
    case DType::kUInt16:
    case DType::kInt16:
    case DType::kUInt32:
    case DType::kInt32:
      return true;
    default:
      return false;
  }
}

bool WidensIntegers(DType stored, DType dtype) {
  const bool is_wide = dtype == DType::kInt16 || dtype == DType::kInt32 || dtype == DType::kInt64;
  return is_wide && IsNarrowInteger(stored) && DTypeSize(stored) < DTypeSize(dtype);
}

template <class From, class Convert, class To>
void DecodeElements(const Convert& convert, const From* from, size_t count, To* to) noexcept {
  for (size_t i = 0; i < count; i++) to[i] = convert(from[i]);
}

template <class From, class Convert, class To>
__attribute__((target("avx2"))) void DecodeElementsBy256(const Convert& convert, const From* from,
                                                         size_t count, To* to) noexcept {
  for (size_t i = 0; i < count; i++) to[i] = convert(from[i]);
}

}  // namespace

void CheckEncoding(const Encoding& encoding) {
  const auto [stored, dtype, scale] = encoding;
  const bool is_scaled = stored == DType::kInt8 && dtype == DType::kFloat32;
  const bool is_half =
      dtype == DType::kFloat32 && (stored == DType::kFloat16 || stored == DType::kBFloat16);
  if (!encoding.is_plain() && !is_scaled && !is_half && !WidensIntegers(stored, dtype)) {
    Throw(ErrorCode::kInvalid, DTypeName(stored), " can't be read as ", DTypeName(dtype));
  }
  if (is_scaled ? !(scale > 0 && std::isfinite(scale)) : scale != 1) {
    Throw(ErrorCode::kInvalid, "a scale of ", scale, " for ", DTypeName(stored), " read as ",
          DTypeName(dtype));
  }
}

void Decode(const Encoding& encoding, const std::byte* from, size_t count, std::byte* to) noexcept {
  if (encoding.is_plain()) {
    if (count != 0) std::memcpy(to, from, count * DTypeSize(encoding.stored));
    return;
  }
  VisitDecoder(encoding, [&](auto stored, auto convert, auto read) {
    const auto* source = reinterpret_cast<const decltype(stored)*>(from);
    auto* target = reinterpret_cast<decltype(read)*>(to);
    if (kVectorBits >= 256) {
      DecodeElementsBy256(convert, source, count, target);
    } else {
      DecodeElements(convert, source, count, target);
    }
  });
}

}  // namespace graphd
