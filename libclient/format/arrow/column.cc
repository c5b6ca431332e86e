// SPDX-License-Identifier: Apache-2.0
#include "format/arrow/column.h"

#include "base/strings.h"

namespace graphd {
namespace {

constexpr int64_t kMaxRows = int64_t{1} << 40;
constexpr int32_t kInlineText = 12;  // longest text that a view holds itself

// Checks one column and what it refers to.
class Checker {
 public:
  Checker(const ArrowColumn& column, const std::string& name)
      : column_(column), type_(*column.type), name_(name) {}

  void CheckCounts() const {
    if (column_.length < 0 || column_.length > kMaxRows || column_.offset < 0 ||
        column_.offset > kMaxRows) {
      Fail(column_.length, " rows from row ", column_.offset);
    }
    if (column_.null_count < -1 || column_.null_count > column_.length) {
      Fail(column_.null_count, " nulls in ", column_.length, " rows");
    }
    if (type_.kind == ArrowKind::kOther) return;  // nobody reads it
    if (column_.buffers.size() != static_cast<size_t>(type_.buffers)) {
      Fail(column_.buffers.size(), " buffers, expected ", type_.buffers, " for ", type_.words);
    }
    if (type_.kind == ArrowKind::kNull) return;
    if (column_.null_count > 0 && column_.buffers[0].data == nullptr) {
      Fail(column_.null_count, " nulls, but no buffer that says which");
    }
  }

  void Check() const {
    CheckCounts();
    if (type_.kind == ArrowKind::kOther || type_.kind == ArrowKind::kNull) return;
    if (column_.has_nulls()) Require(0, Bytes(1));
    switch (type_.kind) {
      case ArrowKind::kBool:
        Require(1, Bytes(1));
        break;
      case ArrowKind::kNumber:
        Require(1, Bytes(8 * DTypeSize(type_.dtype)));
        break;
      case ArrowKind::kText:
        CheckTexts();
        break;
      case ArrowKind::kList:
        CheckLists();
        break;
      default:
        break;  // times and decimals are not read
    }
    if (type_.dictionary) CheckDictionary();
  }

 private:
  template <class... Args>
  [[noreturn]] void Fail(const Args&... args) const {
    Throw(ErrorCode::kCorrupt, "column '", name_.substr(0, 80), "': damaged Arrow data: ", args...,
          "; write the table again with a current version of its library");
  }
  // Returns how many bytes a buffer takes up to the last row, with `bits` bits for each element.
  uint64_t Bytes(uint64_t bits) const {
    return (static_cast<uint64_t>(column_.offset + column_.length) * bits + 7) / 8;
  }
  // Checks that a buffer has at least `bytes` bytes, unless the column has no rows.
  void Require(size_t buffer, uint64_t bytes) const {
    const ArrowBuffer& given = column_.buffers[buffer];
    if (column_.length == 0) return;
    if (given.data == nullptr && bytes > 0) Fail("buffer ", buffer, " is null");
    if (given.size < bytes)
      Fail("buffer ", buffer, " has ", given.size, " bytes, expected ", bytes);
  }
  template <class T>
  void CheckOffsets(uint64_t limit, const char* what) const {
    if (column_.length == 0) return;
    Require(1, static_cast<uint64_t>(column_.offset + column_.length + 1) * sizeof(T));
    T last = column_.Load<T>(1, 0);
    if (last < 0) Fail("offset ", last, " in row 0");
    for (int64_t row = 0; row < column_.length; row++) {
      const T end = column_.Load<T>(1, row + 1);
      if (end < last) Fail("the ", what, " of row ", row, " end at ", end, ", before ", last);
      last = end;
    }
    if (static_cast<uint64_t>(last) > limit) {
      Fail("the ", what, " end at ", last, ", but there are ", limit);
    }
  }

  void CheckTexts() const {
    if (type_.layout == ArrowLayout::kViews) return CheckViews();
    const uint64_t bytes = column_.buffers[2].size;
    if (type_.layout == ArrowLayout::kOffsets64) {
      CheckOffsets<int64_t>(bytes, "bytes");
    } else {
      CheckOffsets<int32_t>(bytes, "bytes");
    }
    if (column_.length > 0 && column_.buffers[2].data == nullptr && TextBytes() > 0) {
      Fail("buffer 2 is null");
    }
  }
  int64_t TextBytes() const {
    const int64_t n = column_.length;
    if (type_.layout == ArrowLayout::kOffsets64) return column_.Load<int64_t>(1, n);
    return column_.Load<int32_t>(1, n);
  }

  void CheckViews() const {
    Require(1, Bytes(128));
    for (int64_t row = 0; row < column_.length; row++) {
      if (column_.IsNull(row)) continue;
      const int32_t size = column_.Load<int32_t>(1, 4 * row + 3 * column_.offset);
      if (size < 0) Fail("a text of ", size, " bytes in row ", row);
      if (size <= kInlineText) continue;
      const int32_t buffer = column_.Load<int32_t>(1, 4 * row + 3 * column_.offset + 2);
      const int32_t begin = column_.Load<int32_t>(1, 4 * row + 3 * column_.offset + 3);
      if (buffer < 0 || static_cast<size_t>(buffer) >= column_.texts.size()) {
        Fail("row ", row, " is in buffer ", buffer, " of ", column_.texts.size());
      }
      const ArrowBuffer& texts = column_.texts[static_cast<size_t>(buffer)];
      if (begin < 0 || texts.data == nullptr ||
          static_cast<uint64_t>(begin) + static_cast<uint64_t>(size) > texts.size) {
        Fail("the text of row ", row, " ends at ", int64_t{begin} + size, ", but its buffer has ",
             texts.data == nullptr ? 0 : texts.size, " bytes");
      }
    }
  }

  void CheckLists() const {
    if (column_.children.size() != 1 || type_.children.size() != 1) {
      Fail(column_.children.size(), " columns of items, expected 1");
    }
    const ArrowColumn& items = column_.children[0];
    CheckColumn(items, name_);
    const auto limit = static_cast<uint64_t>(items.length);
    if (type_.layout == ArrowLayout::kOffsets64) {
      CheckOffsets<int64_t>(limit, "items");
    } else if (type_.layout == ArrowLayout::kOffsets32) {
      CheckOffsets<int32_t>(limit, "items");
    } else {
      uint64_t wanted = 0;
      const auto rows = static_cast<uint64_t>(column_.offset + column_.length);
      if (__builtin_mul_overflow(rows, static_cast<uint64_t>(type_.list_size), &wanted) ||
          wanted > limit) {
        Fail(rows, " lists of ", type_.list_size, " items, but there are ", limit, " items");
      }
    }
  }

  void CheckDictionary() const {
    if (type_.kind != ArrowKind::kNumber || !column_.dictionary) {
      Fail("indices of a dictionary that is missing");
    }
    CheckColumn(*column_.dictionary, name_);
    const auto limit = static_cast<uint64_t>(column_.dictionary->length);
    VisitDType(type_.dtype, [&](auto zero) {
      using T = decltype(zero);
      for (int64_t row = 0; row < column_.length; row++) {
        if (column_.IsNull(row)) continue;
        const T index = column_.Load<T>(1, row);
        if (index < T{} || static_cast<uint64_t>(index) >= limit) {
          Fail("row ", row, " has the index ", +index, " into a dictionary of ", limit, " values");
        }
      }
    });
  }

  const ArrowColumn& column_;
  const ArrowType& type_;
  const std::string& name_;
};

}  // namespace

std::string_view ArrowColumn::Text(int64_t row) const noexcept {
  if (type->layout == ArrowLayout::kViews) {
    const std::byte* view = buffers[1].data + 16 * static_cast<size_t>(offset + row);
    int32_t fields[4];
    std::memcpy(fields, view, sizeof fields);
    const auto size = static_cast<size_t>(fields[0]);
    const std::byte* text = fields[0] <= kInlineText
                                ? view + 4
                                : texts[static_cast<size_t>(fields[2])].data + fields[3];
    return {reinterpret_cast<const char*>(text), size};
  }
  const bool wide = type->layout == ArrowLayout::kOffsets64;
  const int64_t begin = wide ? Load<int64_t>(1, row) : Load<int32_t>(1, row);
  const int64_t end = wide ? Load<int64_t>(1, row + 1) : Load<int32_t>(1, row + 1);
  if (begin == end) return {};
  return {reinterpret_cast<const char*>(buffers[2].data) + begin, static_cast<size_t>(end - begin)};
}

std::pair<int64_t, int64_t> ArrowColumn::Items(int64_t row) const noexcept {
  if (type->layout == ArrowLayout::kFixed) {
    return {(offset + row) * type->list_size, (offset + row + 1) * type->list_size};
  }
  if (type->layout == ArrowLayout::kOffsets64) {
    return {Load<int64_t>(1, row), Load<int64_t>(1, row + 1)};
  }
  return {Load<int32_t>(1, row), Load<int32_t>(1, row + 1)};
}

ArrowColumn ArrowColumn::Slice(int64_t begin, int64_t count) const {
  ArrowColumn slice = *this;
  slice.offset += begin;
  slice.length = count;
  if (slice.null_count != 0) slice.null_count = -1;
  return slice;
}

void CheckCounts(const ArrowColumn& column, const std::string& name) {
  Checker(column, name).CheckCounts();
}

void CheckColumn(const ArrowColumn& column, const std::string& name) {
  Checker(column, name).Check();
}

}  // namespace graphd
