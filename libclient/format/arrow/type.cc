// SPDX-License-Identifier: Apache-2.0
#include "format/arrow/type.h"

#include <array>
#include <charconv>
#include <utility>

#include "base/strings.h"

namespace graphd {

ArrowType ArrowNumber(DType dtype) {
  ArrowType type;
  type.kind = ArrowKind::kNumber;
  type.dtype = dtype;
  type.buffers = 2;
  type.words = DTypeName(dtype);
  return type;
}

ArrowType ArrowText(ArrowLayout layout) {
  ArrowType type;
  type.kind = ArrowKind::kText;
  type.layout = layout;
  type.buffers = layout == ArrowLayout::kViews ? 2 : 3;
  type.words = "string";
  return type;
}

ArrowType ArrowList(ArrowLayout layout, int64_t list_size) {
  ArrowType type;
  type.kind = ArrowKind::kList;
  type.layout = layout;
  type.list_size = list_size;
  type.buffers = layout == ArrowLayout::kFixed ? 1 : 2;
  type.words = "list";
  return type;
}

ArrowType ArrowOther(ArrowKind kind, std::string words, int buffers) {
  ArrowType type;
  type.kind = kind;
  type.buffers = buffers;
  type.words = std::move(words);
  return type;
}

ArrowType ArrowTypeOfFormat(std::string_view format) {
  static constexpr std::array<std::pair<char, DType>, 11> kNumbers{{{'c', DType::kInt8},
                                                                    {'C', DType::kUInt8},
                                                                    {'s', DType::kInt16},
                                                                    {'S', DType::kUInt16},
                                                                    {'i', DType::kInt32},
                                                                    {'I', DType::kUInt32},
                                                                    {'l', DType::kInt64},
                                                                    {'L', DType::kUInt64},
                                                                    {'e', DType::kFloat16},
                                                                    {'f', DType::kFloat32},
                                                                    {'g', DType::kFloat64}}};
  if (format.size() == 1) {
    for (const auto& [letter, dtype] : kNumbers) {
      if (format[0] == letter) return ArrowNumber(dtype);
    }
  }
  if (format == "n") return ArrowOther(ArrowKind::kNull, "null", 0);
  if (format == "b") return ArrowOther(ArrowKind::kBool, "bool", 2);
  if (format == "u") return ArrowText(ArrowLayout::kOffsets32);
  if (format == "U") return ArrowText(ArrowLayout::kOffsets64);
  if (format == "vu") return ArrowText(ArrowLayout::kViews);
  if (format == "+l") return ArrowList(ArrowLayout::kOffsets32, 0);
  if (format == "+L") return ArrowList(ArrowLayout::kOffsets64, 0);
  if (format.starts_with("+w:")) {
    const std::string_view digits = format.substr(3);
    int64_t size = 0;
    const auto [end, error] = std::from_chars(digits.data(), digits.data() + digits.size(), size);
    if (error != std::errc() || end != digits.data() + digits.size() || size < 0) {
      Throw(ErrorCode::kCorrupt, "Arrow type '", format.substr(0, 40),
            "': expected a number of items after '+w:'");
    }
    return ArrowList(ArrowLayout::kFixed, size);
  }
  if (format.starts_with('t')) return ArrowOther(ArrowKind::kTime, "a date or time", 2);
  if (format.starts_with("d:")) return ArrowOther(ArrowKind::kDecimal, "decimal", 2);
  if (format.starts_with('z') || format.starts_with('Z') || format.starts_with("vz") ||
      format.starts_with("w:")) {
    return ArrowOther(ArrowKind::kOther, "binary", 3);
  }
  if (format == "+s") return ArrowOther(ArrowKind::kOther, "struct", 1);
  if (format == "+m") return ArrowOther(ArrowKind::kOther, "map", 2);
  return ArrowOther(ArrowKind::kOther, StrCat("Arrow type '", format.substr(0, 40), "'"), 0);
}

}  // namespace graphd
