// SPDX-License-Identifier: Apache-2.0
#include "graph/tensor_rows.h"

#include <algorithm>

#include "base/strings.h"
#include "graph/array_shape.h"

namespace graphd {
namespace {

constexpr uint64_t kMaxRowBytes = uint64_t{1} << 24;
constexpr int64_t kMaxRows = int64_t{1} << 48;

void CheckName(const std::string& name) {
  const auto is_control = [](char c) { return static_cast<unsigned char>(c) < 0x20 || c == 0x7f; };
  if (name.empty() || name.size() > kMaxTensorName ||
      std::any_of(name.begin(), name.end(), is_control)) {
    Throw(ErrorCode::kInvalid, "a tensor's name must have 1 to ", kMaxTensorName,
          " bytes and no control characters, not be '", name.substr(0, kMaxTensorName), "'");
  }
  if (!IsUtf8(name)) Throw(ErrorCode::kInvalid, "the name of a tensor is not UTF-8; rename it");
}

}  // namespace

void CheckTensorSpec(const GraphMeta& meta, TensorSpec& spec) {
  CheckName(spec.name);
  if (static_cast<uint8_t>(spec.policy) >= kTensorPolicies ||
      static_cast<uint8_t>(spec.writers) >= kTensorWriters ||
      static_cast<uint8_t>(spec.dtype) >= kDTypes) {
    Throw(ErrorCode::kInvalid, "tensor '", spec.name, "': policy ", static_cast<int>(spec.policy),
          ", writers ", static_cast<int>(spec.writers), ", dtype ", static_cast<int>(spec.dtype),
          ": one of these values is unknown");
  }
  CheckRowShape(spec);
  if (spec.policy == TensorPolicy::kRange) {
    if (spec.rows < 0 || spec.rows > kMaxRows) {
      Throw(ErrorCode::kInvalid, "tensor '", spec.name, "' can't have ", spec.rows, " rows");
    }
    return;
  }
  const bool is_edge = spec.policy == TensorPolicy::kEdge;
  const int32_t types = is_edge ? meta.schema.num_etypes() : meta.schema.num_ntypes();
  if (spec.type < 0 || spec.type >= types) {
    Throw(ErrorCode::kInvalid, "tensor '", spec.name, "': ", is_edge ? "edge" : "node", " type ",
          spec.type, " is outside 0..", types - 1);
  }
  const int64_t rows = meta.book.map(is_edge).count(spec.type);
  if (spec.rows < 0) spec.rows = rows;
  if (spec.rows != rows) {
    Throw(ErrorCode::kInvalid, "tensor '", spec.name, "' has ", spec.rows, " rows, ",
          PolicyText(meta.schema, spec), " has ", rows);
  }
}

void CheckRowShape(const TensorSpec& spec) {
  if (spec.row_shape.size() > kMaxExtents) {
    Throw(ErrorCode::kInvalid, "tensor '", spec.name, "': at most ", kMaxExtents,
          " dimensions after the first, not ", spec.row_shape.size());
  }
  if (ArrayBytes(spec.dtype, spec.row_shape, kMaxRowBytes).value_or(0) == 0) {
    Throw(ErrorCode::kInvalid, "tensor '", spec.name,
          "': a row's dimensions must be positive and a row at most 16 MiB");
  }
}

TensorRows RowsOf(std::shared_ptr<const GraphMeta> meta, const TensorSpec& spec) {
  const PartitionBook& book = meta->book;
  if (spec.policy == TensorPolicy::kNode) return {{meta, &book.nodes()}, spec.type};
  if (spec.policy == TensorPolicy::kEdge) return {{meta, &book.edges()}, spec.type};
  const int64_t parts = book.num_partitions();
  // Computes p * rows / parts without the product p * rows, which could overflow.
  const auto bound = [&](int64_t p) {
    return spec.rows / parts * p + spec.rows % parts * p / parts;
  };
  std::vector<IdMap::Range> ranges;
  for (int64_t p = 0; p < parts; p++) ranges.push_back({bound(p), bound(p + 1)});
  return {std::make_shared<const IdMap>(IdMap::FromRanges("row", {std::move(ranges)})), 0};
}

std::string PolicyText(const Schema& schema, const TensorSpec& spec) {
  switch (spec.policy) {
    case TensorPolicy::kNode:
      return StrCat("node type '", schema.ntype(spec.type), "'");
    case TensorPolicy::kEdge:
      return StrCat("edge type '", schema.etype(spec.type).ToString(), "'");
    case TensorPolicy::kRange:
      return StrCat(spec.rows, " rows of its own");
  }
  return "?";
}

}  // namespace graphd
