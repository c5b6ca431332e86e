// SPDX-License-Identifier: Apache-2.0
#include "sampling/index/edge_index.h"

#include <algorithm>

#include "base/strings.h"
#include "sampling/index/alias_index.h"
#include "sampling/index/order_index.h"
#include "sampling/index/out_index.h"
#include "sampling/index/slot_index.h"

namespace graphd {
namespace {

bool HasColumn(EdgeIndexKind kind) {
  return kind == EdgeIndexKind::kAlias || kind == EdgeIndexKind::kOrder;
}

void CheckColumn(const Partition& partition, const EdgeIndexSpec& spec) {
  const FeatureTable& column = partition.edge_feature(spec.etype, spec.column);
  if (column.shape().size() != 1) {
    Throw(ErrorCode::kInvalid, spec.ToString(), ": the feature has ", column.shape().size(),
          " dimensions; expected one number per edge");
  }
  if (spec.kind != EdgeIndexKind::kAlias) return;
  switch (column.dtype()) {
    case DType::kFloat32:
    case DType::kFloat64:
    case DType::kBool:
    case DType::kUInt8:
    case DType::kInt8:
      return;
    default:
      Throw(ErrorCode::kInvalid, spec.ToString(), ": the feature is ", DTypeName(column.dtype()),
            "; weights are float32 or float64, masks bool, uint8 or int8");
  }
}

// Throws Error(kInvalid) if a row has too many edges for relative slots, which have 32 bits.
void CheckDegrees(const Csc& csc, const EdgeIndexSpec& spec) {
  for (size_t row = 0; row + 1 < csc.indptr.size(); row++) {
    const uint64_t degree = csc.indptr[row + 1] - csc.indptr[row];
    if (degree > UINT32_MAX) {
      Throw(ErrorCode::kInvalid, spec.ToString(), ": a node has ", degree,
            " edges; the index holds ", UINT32_MAX, " at most");
    }
  }
}

}  // namespace

const char* EdgeIndexKindName(EdgeIndexKind kind) noexcept {
  switch (kind) {
    case EdgeIndexKind::kOut:
      return "out";
    case EdgeIndexKind::kAlias:
      return "alias";
    case EdgeIndexKind::kOrder:
      return "order";
    case EdgeIndexKind::kInverse:
      return "inverse";
    case EdgeIndexKind::kSorted:
      return "sorted";
  }
  return "unknown";
}

std::string EdgeIndexSpec::ToString() const {
  return StrCat(EdgeIndexKindName(kind), " index of edge type ", etype,
                column.empty() ? "" : " by '" + column + "'", out ? ", out-edges" : "");
}

void CheckEdgeIndexSpec(const Partition& partition, const EdgeIndexSpec& spec) {
  if (spec.kind > EdgeIndexKind::kSorted) {
    Throw(ErrorCode::kInvalid, "edge index of kind ", static_cast<int>(spec.kind), "; expected 0..",
          static_cast<int>(EdgeIndexKind::kSorted));
  }
  if (spec.etype < 0 || spec.etype >= partition.meta().schema.num_etypes()) {
    Throw(ErrorCode::kNotFound, spec.ToString(), ": the graph has edge types 0..",
          partition.meta().schema.num_etypes() - 1);
  }
  if (spec.kind == EdgeIndexKind::kOut && spec.out) {
    Throw(ErrorCode::kInvalid, spec.ToString(), ": the out index is not itself over out-edges");
  }
  if (HasColumn(spec.kind)) {
    CheckColumn(partition, spec);
  } else if (!spec.column.empty()) {
    Throw(ErrorCode::kInvalid, spec.ToString(), ": this kind of index takes no feature");
  }
  if (spec.kind == EdgeIndexKind::kInverse && !spec.out && !partition.csc(spec.etype).edge_rows) {
    Throw(ErrorCode::kInvalid, spec.ToString(),
          ": edges lie in the order of their rows, so slots are edge rows already");
  }
}

std::shared_ptr<const Segment> BuildEdgeIndex(const Partition& partition, const EdgeIndexSpec& spec,
                                              const std::shared_ptr<const Segment>& out) {
  CheckEdgeIndexSpec(partition, spec);
  if (spec.kind == EdgeIndexKind::kOut) return BuildOutIndex(partition, spec.etype);
  std::optional<OutIndex> out_rows;
  if (spec.out) {
    if (!out) Throw(ErrorCode::kInvalid, spec.ToString(), ": needs the out index first");
    out_rows.emplace(out);
  }
  const Csc& csc = out_rows ? out_rows->csc() : partition.csc(spec.etype);
  if (csc.indices.size() != partition.csc(spec.etype).indices.size()) {
    Throw(ErrorCode::kInvalid, spec.ToString(), ": the out index given has ", csc.indices.size(),
          " edges, expected ", partition.csc(spec.etype).indices.size());
  }
  if (spec.kind != EdgeIndexKind::kInverse) CheckDegrees(csc, spec);
  switch (spec.kind) {
    case EdgeIndexKind::kAlias:
      return BuildAliasIndex(partition, spec.etype, csc, spec.column);
    case EdgeIndexKind::kOrder:
      return BuildOrderIndex(partition, spec.etype, csc, spec.column);
    case EdgeIndexKind::kInverse:
      return BuildInverseIndex(csc);
    default:
      return BuildSortedIndex(csc);
  }
}

uint64_t EstimateEdgeIndexBytes(const Partition& partition, const EdgeIndexSpec& spec) {
  CheckEdgeIndexSpec(partition, spec);
  const Schema& schema = partition.meta().schema;
  const IdMap& nodes = partition.meta().book.nodes();
  const auto edges = static_cast<uint64_t>(partition.num_inner_edges(spec.etype));
  const auto sources = static_cast<uint64_t>(nodes.count(schema.src_type(spec.etype)));
  const auto inner = static_cast<uint64_t>(partition.num_inner_nodes(schema.dst_type(spec.etype)));
  const bool out = spec.out || spec.kind == EdgeIndexKind::kOut;
  const uint64_t rows = out ? std::min(sources, edges) : inner;
  const auto id_bytes = [](uint64_t count) {
    return uint64_t{DTypeSize(Partition::IdDType(static_cast<int64_t>(count)))};
  };
  constexpr uint64_t kPages = 64 << 10;  // for the arrays' alignment and other small amounts
  switch (spec.kind) {
    case EdgeIndexKind::kOut: {
      const auto destinations = static_cast<uint64_t>(nodes.count(schema.dst_type(spec.etype)));
      // The last term is for RankedBits: a bit for each source node, and for each word of these
      // bits the number of ones before it.
      return kPages + rows * (id_bytes(sources) + 2 * id_bytes(rows) + 8) +
             edges * (id_bytes(destinations) + id_bytes(edges)) + sources / 4;
    }
    case EdgeIndexKind::kAlias:
      return kPages + edges * 8 + rows * 12;
    case EdgeIndexKind::kOrder: {
      const DType dtype = partition.edge_feature(spec.etype, spec.column).dtype();
      const bool widened = dtype == DType::kFloat16 || dtype == DType::kBFloat16;
      return kPages + edges * (4 + (widened ? 8 : DTypeSize(dtype)));
    }
    case EdgeIndexKind::kInverse:
      return kPages + edges * id_bytes(edges);
    case EdgeIndexKind::kSorted:
      break;
  }
  return kPages + edges * 4;
}

}  // namespace graphd
