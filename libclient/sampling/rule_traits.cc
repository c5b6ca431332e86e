// SPDX-License-Identifier: Apache-2.0
#include "sampling/rule_traits.h"

#include "base/strings.h"

namespace graphd {
namespace {

bool NeedsColumn(SamplingMethod method) {
  return method != SamplingMethod::kUniform && method != SamplingMethod::kLabor;
}

const FeatureInfo& ColumnOf(const Schema& schema, const SamplingRule& rule,
                            const std::vector<FeatureInfo>& features) {
  std::vector<std::string> names;
  for (const FeatureInfo& info : features) {
    if (info.name == rule.column) return info;
    names.push_back(info.name);
  }
  Throw(ErrorCode::kNotFound, "edge type ", schema.etype(rule.etype).ToString(),
        " has no feature '", rule.column,
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

const char* SamplingMethodName(SamplingMethod method) noexcept {
  switch (method) {
    case SamplingMethod::kUniform:
      return "uniform";
    case SamplingMethod::kWeighted:
      return "weighted";
    case SamplingMethod::kTopK:
      return "top-k";
    case SamplingMethod::kTemporalUniform:
      return "temporal uniform";
    case SamplingMethod::kTemporalRecent:
      return "temporal recent";
    case SamplingMethod::kLabor:
      return "labor";
  }
  return "unknown";
}

bool IsTemporal(SamplingMethod method) noexcept {
  return method == SamplingMethod::kTemporalUniform || method == SamplingMethod::kTemporalRecent;
}

bool MayReplace(SamplingMethod method) noexcept {
  return method == SamplingMethod::kUniform || method == SamplingMethod::kWeighted ||
         method == SamplingMethod::kTemporalUniform;
}

NodeTypeId SeedType(const Schema& schema, const SamplingRule& rule) {
  return rule.direction == Direction::kIn ? schema.dst_type(rule.etype)
                                          : schema.src_type(rule.etype);
}

NodeTypeId NeighborType(const Schema& schema, const SamplingRule& rule) {
  return rule.direction == Direction::kIn ? schema.src_type(rule.etype)
                                          : schema.dst_type(rule.etype);
}

void CheckSamplingRule(const Schema& schema, const SamplingRule& rule,
                       const std::vector<FeatureInfo>& features) {
  const std::string name = schema.etype(rule.etype).ToString();
  if (static_cast<int>(rule.method) >= kNumSamplingMethods) {
    Throw(ErrorCode::kInvalid, "sampling method ", static_cast<int>(rule.method), " is outside 0..",
          kNumSamplingMethods - 1);
  }
  if (rule.fanout < kAllNeighbors) {
    Throw(ErrorCode::kInvalid, "fanout ", rule.fanout, " of edge type ", name,
          ": use -1 for all, or 0 and more");
  }
  if (rule.replace && !MayReplace(rule.method)) {
    Throw(ErrorCode::kInvalid, "edge type ", name, ": ", SamplingMethodName(rule.method),
          " takes every edge once; ask for it without replacement");
  }
  if (rule.column.empty()) {
    if (!NeedsColumn(rule.method)) return;
    Throw(ErrorCode::kInvalid, "edge type ", name, ": ", SamplingMethodName(rule.method),
          " needs an edge feature; name it");
  }
  if (rule.method == SamplingMethod::kUniform) {
    Throw(ErrorCode::kInvalid, "edge type ", name, ": uniform sampling takes no column ('",
          rule.column, "'); use the weighted method");
  }
  const FeatureInfo& info = ColumnOf(schema, rule, features);
  if (!info.row_shape.empty()) {
    Throw(ErrorCode::kInvalid, "feature '", info.name, "' of edge type ", name, " has ",
          info.row_shape.size() + 1, " dimensions; sampling takes one number per edge");
  }
  const bool weights =
      rule.method == SamplingMethod::kWeighted || rule.method == SamplingMethod::kLabor;
  if (weights && !FitsWeights(info.dtype)) {
    Throw(ErrorCode::kInvalid, "feature '", info.name, "' of edge type ", name, " is ",
          DTypeName(info.dtype), "; weights are float32 or float64, masks bool, uint8 or int8");
  }
}

bool TakesRealTimes(const Schema& schema, const SamplingRule& rule,
                    const std::vector<FeatureInfo>& features) {
  return IsTemporal(rule.method) && IsReal(ColumnOf(schema, rule, features).dtype);
}

std::vector<EdgeIndexSpec> IndexesOf(const SamplingRule& rule) {
  const bool out = rule.direction == Direction::kOut;
  std::vector<EdgeIndexSpec> specs;
  if (out) specs.push_back({EdgeIndexKind::kOut, false, rule.etype, ""});
  if (rule.column.empty()) return specs;
  const bool ordered = rule.method == SamplingMethod::kTopK || IsTemporal(rule.method);
  specs.push_back(
      {ordered ? EdgeIndexKind::kOrder : EdgeIndexKind::kAlias, out, rule.etype, rule.column});
  return specs;
}

}  // namespace graphd
