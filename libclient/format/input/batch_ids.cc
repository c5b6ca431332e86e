// SPDX-License-Identifier: Apache-2.0
#include "format/input/batch_ids.h"

#include <type_traits>

#include "base/index.h"
#include "base/strings.h"

namespace graphd {
namespace {

bool IsInteger(DType dtype) {
  return dtype != DType::kFloat16 && dtype != DType::kFloat32 && dtype != DType::kFloat64;
}

// Returns the position of a row's value in the dictionary.
uint64_t IndexAt(const ArrowColumn& column, int64_t row) {
  return VisitDType(column.type->dtype, [&](auto zero) {
    return static_cast<uint64_t>(column.Load<decltype(zero)>(1, row));
  });
}

}  // namespace

BatchIds::BatchIds(const ArrowColumn& column, const std::string& name, const std::string& path,
                   int64_t first_row, NodeIds& ids)
    : column_(column), name_(name), path_(path), first_row_(first_row), ids_(ids) {
  const ArrowType& type = column.type->dictionary ? *column.type->dictionary : *column.type;
  const bool number = type.kind == ArrowKind::kNumber && IsInteger(type.dtype);
  if (!number && type.kind != ArrowKind::kText && type.kind != ArrowKind::kNull) {
    Throw(ErrorCode::kInvalid, path, ": column '", name, "' has the ids of nodes of type '",
          ids.ntype(), "' and is ", type.words, "; cast it to int64, or to string for names");
  }
  if (column.type->dictionary) of_dictionary_.resize(Index(column.dictionary->length), kUnknown);
}

uint64_t BatchIds::At(int64_t row) {
  const Place place{*this, row};
  if (!column_.type->dictionary || column_.IsNull(row)) return Resolve(column_, row, place);
  const uint64_t index = IndexAt(column_, row);
  uint64_t& id = of_dictionary_[index];
  // Names are numbered in the order in which rows have them, not in the dictionary's order.
  if (id == kUnknown) id = Resolve(*column_.dictionary, static_cast<int64_t>(index), place);
  return id;
}

uint64_t BatchIds::Resolve(const ArrowColumn& column, int64_t row, const Place& place) {
  if (column.IsNull(row)) place.Fail("an empty id of a node of type '", ids_.ntype(), "'");
  if (column.type->kind == ArrowKind::kText) return ids_.Resolve(column.Text(row), place);
  return VisitDType(column.type->dtype, [&](auto zero) {
    const auto value = column.Load<decltype(zero)>(1, row);
    if constexpr (std::is_signed_v<decltype(zero)>) {
      if (value < 0) return ids_.Resolve(std::to_string(value), place);
    }
    return ids_.ResolveNumber(static_cast<uint64_t>(value), place);
  });
}

std::string BatchIds::TextOf(const ArrowColumn& column, int64_t row) {
  if (column.IsNull(row)) return "";
  if (column.type->dictionary) {
    return TextOf(*column.dictionary, static_cast<int64_t>(IndexAt(column, row)));
  }
  if (column.type->kind == ArrowKind::kText) return std::string(column.Text(row));
  if (column.type->kind != ArrowKind::kNumber) return "";
  return VisitDType(column.type->dtype,
                    [&](auto zero) { return std::to_string(column.Load<decltype(zero)>(1, row)); });
}

}  // namespace graphd
