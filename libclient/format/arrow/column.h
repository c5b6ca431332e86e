// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "format/arrow/type.h"

// Columns of a batch of rows in Arrow's memory layout, as views of memory that a batch owns.

namespace graphd {

// The maximum length of the lists of a feature. Without this bound, a small input could require
// much memory: a row without a list may take nothing in the input, but as much memory as other
// rows.
inline constexpr int64_t kMaxListSize = int64_t{1} << 20;

struct ArrowBuffer {
  static constexpr uint64_t kUnknownSize = UINT64_MAX;  // the C data interface tells no sizes
  const std::byte* data = nullptr;
  uint64_t size = kUnknownSize;
};

struct ArrowColumn {
  const ArrowType* type = nullptr;
  int64_t length = 0;
  int64_t offset = 0;       // index of the first row in the buffers
  int64_t null_count = -1;  // -1: unknown
  std::vector<ArrowBuffer> buffers;
  std::vector<ArrowBuffer> texts;  // ArrowLayout::kViews: the variadic buffers
  std::vector<ArrowColumn> children;
  std::shared_ptr<const ArrowColumn> dictionary;

  bool has_nulls() const noexcept {
    return type->kind == ArrowKind::kNull || (null_count != 0 && buffers[0].data != nullptr);
  }
  // The following functions require 0 <= row < length and a column that CheckColumn accepted.
  bool IsNull(int64_t row) const noexcept {
    return has_nulls() && (type->kind == ArrowKind::kNull || !Bit(0, row));
  }
  bool Bit(size_t buffer, int64_t row) const noexcept {
    const auto bit = static_cast<uint64_t>(offset + row);
    return (std::to_integer<unsigned>(buffers[buffer].data[bit / 8]) >> (bit % 8) & 1) != 0;
  }
  // Returns an element of a buffer. Requires: T is the dtype.
  template <class T>
  T Load(size_t buffer, int64_t row) const noexcept {
    T value;  // buffers need not be aligned
    std::memcpy(&value, buffers[buffer].data + static_cast<size_t>(offset + row) * sizeof(T),
                sizeof(T));
    return value;
  }
  std::string_view Text(int64_t row) const noexcept;
  // Returns the first item of a list and the one after its last, as rows of children[0].
  std::pair<int64_t, int64_t> Items(int64_t row) const noexcept;
  // Returns the rows [begin, begin + count) of the column, as a view.
  ArrowColumn Slice(int64_t begin, int64_t count) const;
};

// A batch of rows. The columns are valid as long as `owner` and the stream live.
struct ArrowBatch {
  int64_t rows = 0;
  std::vector<ArrowColumn> columns;
  std::shared_ptr<void> owner;
};

// A table that is read batch by batch. Not thread-safe.
class ArrowStream {
 public:
  virtual ~ArrowStream() = default;
  virtual const std::vector<ArrowField>& fields() const = 0;
  // Reads the next batch. Its columns correspond to fields(), and are checked. Returns false at the
  // end.
  virtual bool Next(ArrowBatch& batch) = 0;
};

// Checks a column's numbers of rows, nulls and buffers. CheckColumn does this, too, but a part of a
// column (Slice) has lost some of these numbers, so the whole column must be checked before Slice
// is called. Throws Error(kCorrupt).
void CheckCounts(const ArrowColumn& column, const std::string& name);

// Checks everything that the functions above rely on: numbers of buffers and children, sizes where
// they are known, offsets, and indices of dictionaries. Throws Error(kCorrupt); `name` is the name
// of the column in messages.
void CheckColumn(const ArrowColumn& column, const std::string& name);

// Calls f(T{}) with the C++ type of a number's dtype; half floats are uint16_t, and their bits are
// converted by FromFloat16 (graph/decode.h).
template <class F>
decltype(auto) VisitDType(DType dtype, F&& f) {
  switch (dtype) {
    case DType::kInt8:
      return f(int8_t{});
    case DType::kUInt8:
      return f(uint8_t{});
    case DType::kInt16:
      return f(int16_t{});
    case DType::kFloat16:
    case DType::kUInt16:
      return f(uint16_t{});
    case DType::kInt32:
      return f(int32_t{});
    case DType::kUInt32:
      return f(uint32_t{});
    case DType::kUInt64:
      return f(uint64_t{});
    case DType::kFloat32:
      return f(float{});
    case DType::kFloat64:
      return f(double{});
    default:
      return f(int64_t{});
  }
}

}  // namespace graphd
