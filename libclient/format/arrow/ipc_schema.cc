// SPDX-License-Identifier: Apache-2.0
#include "format/arrow/ipc_schema.h"

#include <utility>

// Fields have the numbers here that they have in Arrow's Schema.fbs.

namespace graphd {
namespace {

// The members of the union Type.
enum : uint8_t {
  kNullType = 1,
  kInt,
  kFloatingPoint,
  kBinary,
  kUtf8,
  kBool,
  kDecimal,
  kDate,
  kTime,
  kTimestamp,
  kInterval,
  kList,
  kStruct,
  kUnion,
  kFixedSizeBinary,
  kFixedSizeList,
  kMap,
  kDuration,
  kLargeBinary,
  kLargeUtf8,
  kLargeList,
  kUtf8View = 24,
};

ArrowType IntOf(const FlatTable& type) {
  const auto bits = type.Value<int32_t>(0, 0);
  const bool is_signed = type.Value<uint8_t>(1, 0) != 0;
  switch (bits) {
    case 8:
      return ArrowNumber(is_signed ? DType::kInt8 : DType::kUInt8);
    case 16:
      return ArrowNumber(is_signed ? DType::kInt16 : DType::kUInt16);
    case 32:
      return ArrowNumber(is_signed ? DType::kInt32 : DType::kUInt32);
    case 64:
      return ArrowNumber(is_signed ? DType::kInt64 : DType::kUInt64);
    default:
      Throw(ErrorCode::kCorrupt, "damaged Arrow message: integers of ", bits, " bits");
  }
}

ArrowType FloatOf(const FlatTable& type) {
  const auto precision = type.Value<int16_t>(0, 0);
  if (precision == 0) return ArrowNumber(DType::kFloat16);
  if (precision == 1) return ArrowNumber(DType::kFloat32);
  if (precision == 2) return ArrowNumber(DType::kFloat64);
  Throw(ErrorCode::kCorrupt, "damaged Arrow message: floats of precision ", precision);
}

ArrowType TypeOfNumber(uint8_t number, const FlatTable& type, const std::string& name) {
  switch (number) {
    case kNullType:
      return ArrowOther(ArrowKind::kNull, "null", 0);
    case kInt:
      return IntOf(type);
    case kFloatingPoint:
      return FloatOf(type);
    case kBool:
      return ArrowOther(ArrowKind::kBool, "bool", 2);
    case kUtf8:
      return ArrowText(ArrowLayout::kOffsets32);
    case kLargeUtf8:
      return ArrowText(ArrowLayout::kOffsets64);
    case kUtf8View:
      return ArrowText(ArrowLayout::kViews);
    case kList:
      return ArrowList(ArrowLayout::kOffsets32, 0);
    case kLargeList:
      return ArrowList(ArrowLayout::kOffsets64, 0);
    case kFixedSizeList: {
      const auto size = type.Value<int32_t>(0, 0);
      if (size < 0) Throw(ErrorCode::kCorrupt, "damaged Arrow message: lists of ", size, " items");
      return ArrowList(ArrowLayout::kFixed, size);
    }
    case kDate:
    case kTime:
    case kTimestamp:
    case kInterval:
    case kDuration:
      return ArrowOther(ArrowKind::kTime, "a date or time", 2);
    case kDecimal:
      return ArrowOther(ArrowKind::kDecimal, "decimal", 2);
    case kBinary:
    case kLargeBinary:
      return ArrowOther(ArrowKind::kOther, "binary", 3);
    case kFixedSizeBinary:
      return ArrowOther(ArrowKind::kOther, "binary", 2);
    case kStruct:
      return ArrowOther(ArrowKind::kOther, "struct", 1);
    case kMap:
      return ArrowOther(ArrowKind::kOther, "map", 2);
    default:
      Throw(ErrorCode::kInvalid, "column '", name.substr(0, 80), "' has the Arrow type ",
            int{number}, ", which can't be read; drop the column");
  }
}

// The number of fields so far and its limit, because a small message could describe very many
// fields.
struct Limits {
  int fields = 0;
  static constexpr int kMaxFields = 100'000;
  static constexpr size_t kMaxName = size_t{64} << 10;  // many columns may share one text
};

ArrowField ReadField(const FlatTable& field, int depth, Limits& limits) {
  if (depth > kMaxArrowDepth || ++limits.fields > Limits::kMaxFields) {
    Throw(ErrorCode::kCorrupt, "damaged Arrow message: more than ", kMaxArrowDepth,
          " nested types or ", Limits::kMaxFields, " columns");
  }
  ArrowField read{field.Text(0), {}};
  if (read.name.size() > Limits::kMaxName) {
    Throw(ErrorCode::kCorrupt, "damaged Arrow message: the name of a column has ", read.name.size(),
          " bytes; at most ", Limits::kMaxName, " are allowed");
  }
  if (!field.Has(3)) Throw(ErrorCode::kCorrupt, "column '", read.name, "' has no Arrow type");
  read.type = TypeOfNumber(field.Value<uint8_t>(2, 0), field.Table(3), read.name);
  const FlatVector children = field.Vector(5, 4);
  for (uint64_t c = 0; c < children.size(); c++) {
    read.type.children.push_back(ReadField(children.Table(c), depth + 1, limits).type);
  }
  if (read.type.kind == ArrowKind::kList && children.size() != 1) {
    Throw(ErrorCode::kCorrupt, "column '", read.name, "': a list of ", children.size(),
          " types, expected 1");
  }
  if (field.Has(4)) {
    const FlatTable encoding = field.Table(4);
    ArrowType indices = encoding.Has(1) ? IntOf(encoding.Table(1)) : ArrowNumber(DType::kInt32);
    indices.dictionary = std::make_shared<ArrowType>(std::move(read.type));
    indices.dictionary_id = encoding.Value<int64_t>(0, 0);
    read.type = std::move(indices);
  }
  return read;
}

}  // namespace

std::vector<ArrowField> ReadIpcSchema(const FlatTable& schema) {
  if (schema.Value<int16_t>(0, 0) != 0) {
    Throw(ErrorCode::kInvalid, "the Arrow data is big-endian, which can't be read");
  }
  std::vector<ArrowField> fields;
  Limits limits;
  const FlatVector columns = schema.Vector(1, 4);
  for (uint64_t c = 0; c < columns.size(); c++) {
    fields.push_back(ReadField(columns.Table(c), 0, limits));
  }
  return fields;
}

}  // namespace graphd
