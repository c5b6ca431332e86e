// SPDX-License-Identifier: Apache-2.0
#include "sampling/hop_picker.h"

#include <algorithm>

#include "base/strings.h"

namespace graphd {
namespace {

bool NeedsColumn(SamplingMethod method) {
  return method != SamplingMethod::kUniform && method != SamplingMethod::kLabor;
}

const FeatureInfo& ColumnOf(const Schema& schema, const SamplingRule& pick,
                            const std::vector<FeatureInfo>& features) {
  std::vector<std::string> names;
  for (const FeatureInfo& info : features) {
    if (info.name == pick.column) return info;
    names.push_back(info.name);
  }
  Throw(ErrorCode::kNotFound, "edge type ", schema.etype(pick.etype).ToString(),
        " has no feature '", pick.column,
        "'; there are: ", names.empty() ? "none" : Join(names, ", "));
}

bool FitsWeights(DType dtype) {
  return dtype == DType::kFloat32 || dtype == DType::kFloat64 || dtype == DType::kBool ||
         dtype == DType::kUInt8 || dtype == DType::kInt8;
}

bool IsReal(DType dtype) {
  return dtype == DType::kFloat16 || dtype == DType::kBFloat16 || dtype == DType::kFloat32 ||
         dtype == DType::kFloat64;
}

}  // namespace

bool IsTemporal(SamplingMethod method) noexcept {
  return method == SamplingMethod::kTemporalUniform || method == SamplingMethod::kTemporalRecent;
}

NodeTypeId SeedType(const Schema& schema, const SamplingRule& pick) {
  return pick.direction == Direction::kIn ? schema.dst_type(pick.etype)
                                          : schema.src_type(pick.etype);
}

NodeTypeId NeighborType(const Schema& schema, const SamplingRule& pick) {
  return pick.direction == Direction::kIn ? schema.src_type(pick.etype)
                                          : schema.dst_type(pick.etype);
}

void CheckSamplingRule(const Schema& schema, const SamplingRule& pick,
                       const std::vector<FeatureInfo>& features) {
  const std::string name = schema.etype(pick.etype).ToString();
  if (static_cast<int>(pick.method) >= kNumSamplingMethods) {
    Throw(ErrorCode::kInvalid, "pick method ", static_cast<int>(pick.method), " is outside 0..",
          kNumSamplingMethods - 1);
  }
  if (pick.fanout < kAllNeighbors) {
    Throw(ErrorCode::kInvalid, "fanout ", pick.fanout, " of edge type ", name,
          ": use -1 for all, or 0 and more");
  }
  if (pick.replace &&
      (pick.method == SamplingMethod::kTopK || pick.method == SamplingMethod::kLabor ||
       pick.method == SamplingMethod::kTemporalRecent)) {
    Throw(ErrorCode::kInvalid, "edge type ", name, ": ", SamplingMethodName(pick.method),
          " takes every edge once; ask for it without replacement");
  }
  if (pick.column.empty()) {
    if (!NeedsColumn(pick.method)) return;
    Throw(ErrorCode::kInvalid, "edge type ", name, ": ", SamplingMethodName(pick.method),
          " needs an edge feature; name it");
  }
  if (pick.method == SamplingMethod::kUniform) {
    Throw(ErrorCode::kInvalid, "edge type ", name, ": uniform picks take no column ('", pick.column,
          "'); use weighted picks");
  }
  const FeatureInfo& info = ColumnOf(schema, pick, features);
  if (!info.row_shape.empty()) {
    Throw(ErrorCode::kInvalid, "feature '", info.name, "' of edge type ", name, " has ",
          info.row_shape.size() + 1, " dimensions; sampling takes one number per edge");
  }
  const bool weights =
      pick.method == SamplingMethod::kWeighted || pick.method == SamplingMethod::kLabor;
  if (weights && !FitsWeights(info.dtype)) {
    Throw(ErrorCode::kInvalid, "feature '", info.name, "' of edge type ", name, " is ",
          DTypeName(info.dtype), "; weights are float32 or float64, masks bool, uint8 or int8");
  }
}

bool TakesRealTimes(const Schema& schema, const SamplingRule& pick,
                    const std::vector<FeatureInfo>& features) {
  return IsTemporal(pick.method) && IsReal(ColumnOf(schema, pick, features).dtype);
}

std::vector<EdgeIndexSpec> IndexesOf(const SamplingRule& pick) {
  const bool out = pick.direction == Direction::kOut;
  std::vector<EdgeIndexSpec> specs;
  if (out) specs.push_back({EdgeIndexKind::kOut, false, pick.etype, ""});
  if (pick.column.empty()) return specs;
  const bool ordered = pick.method == SamplingMethod::kTopK || IsTemporal(pick.method);
  specs.push_back(
      {ordered ? EdgeIndexKind::kOrder : EdgeIndexKind::kAlias, out, pick.etype, pick.column});
  return specs;
}

template <class Id>
void HopPicker::Run(const Partition& partition, EdgeIndexes& indexes, const PartPick& part,
                    const PartSeeds& seeds, SampledEdges<Id>& out) {
  const SamplingRule& pick = part.pick;
  const bool outward = pick.direction == Direction::kOut;
  const Csc& csc = indexes.Rows(pick.etype, outward);
  const PartitionBook& book = partition.meta().book;
  rows_.resize(seeds.ids.size());
  if (outward) {
    indexes.Out(pick.etype).RowsOf(seeds.ids, rows_);
  } else {
    const IdMap& nodes = book.nodes();
    const NodeTypeId type = SeedType(partition.meta().schema, pick);
    if (nodes.is_range()) {
      const int64_t first = nodes.type_begin(partition.id(), type);
      for (size_t i = 0; i < rows_.size(); i++) rows_[i] = seeds.ids[i] - first;
    } else {
      for (size_t i = 0; i < rows_.size(); i++) rows_[i] = nodes.LocalRow(type, seeds.ids[i]);
    }
  }
  const auto streams = seeds.streams.empty() ? seeds.ids : seeds.streams;
  const PickParams params{pick.method,    pick.fanout, pick.replace, pick.largest,
                          pick.inclusive, outward,     part.key};
  if (part.admit) part.admit(MaxPicks(csc, rows_, params));
  out.edge_ids.clear();
  out.races.clear();
  if (!outward && pick.method == SamplingMethod::kUniform && part.exclude.empty()) {
    // The fast path: neighbours are written while edges are chosen.
    out.counts.resize(rows_.size());
    const size_t total =
        uniform_.Plan(csc, rows_, streams, {pick.fanout, pick.replace, part.key}, out.counts);
    out.neighbors.resize(total);
    out.edge_ids.resize(part.edge_ids ? total : 0);
    // Edge ids are non-negative, so their int64 and uint64 forms are the same bytes.
    auto* positions = reinterpret_cast<uint64_t*>(out.edge_ids.data());
    uniform_.Pick(out.neighbors.data(), part.edge_ids ? positions : nullptr);
    if (part.edge_ids) PositionsToEdgeIds(partition, pick.etype, {positions, total});
    return;
  }
  PickSource source;
  source.csc = &csc;
  if (!pick.column.empty()) {
    if (pick.method == SamplingMethod::kTopK || IsTemporal(pick.method)) {
      source.order = &indexes.Order(pick.etype, outward, pick.column);
    } else {
      source.alias = &indexes.Alias(pick.etype, outward, pick.column);
    }
  }
  if (!part.exclude.empty()) {
    exclude_rows_.resize(part.exclude.size());
    for (size_t i = 0; i < part.exclude.size(); i++) {
      exclude_rows_[i] = book.edges().LocalRow(pick.etype, part.exclude[i]);
    }
    excluded_.Assign(exclude_rows_);
    source.exclude = &excluded_;
  }
  SeedTimes times;
  if (IsTemporal(pick.method)) {
    const bool real =
        TakesRealTimes(partition.meta().schema, pick, partition.edge_features(pick.etype));
    times = real ? SeedTimes(seeds.real_times) : SeedTimes(seeds.times);
  }
  const size_t total = picker_.Pick(source, rows_, streams, params, times);
  out.counts.assign(picker_.counts().begin(), picker_.counts().end());
  out.neighbors.resize(total);
  WriteNeighbors(csc, picker_.slots(), out.neighbors.data());
  out.races.assign(picker_.races().begin(), picker_.races().end());
  if (!part.edge_ids) return;
  out.edge_ids.resize(total);
  WriteEdgeIds(partition, pick.etype, csc, picker_.slots(), out.edge_ids.data());
}

template void HopPicker::Run(const Partition&, EdgeIndexes&, const PartPick&, const PartSeeds&,
                             SampledEdges<uint32_t>&);
template void HopPicker::Run(const Partition&, EdgeIndexes&, const PartPick&, const PartSeeds&,
                             SampledEdges<uint64_t>&);
template void HopPicker::Run(const Partition&, EdgeIndexes&, const PartPick&, const PartSeeds&,
                             SampledEdges<int64_t>&);

}  // namespace graphd
