// SPDX-License-Identifier: Apache-2.0
#include "format/partition/edge_weights.h"

#include <algorithm>
#include <cmath>
#include <cstring>

#include "base/strings.h"

namespace graphd {
namespace {

constexpr double kAverage = 1000;

double Half(uint16_t bits) {
  const double mantissa = bits & 0x3ff;
  const int exponent = bits >> 10 & 0x1f;
  const double value = exponent == 0    ? std::ldexp(mantissa, -24)
                       : exponent == 31 ? (mantissa != 0 ? NAN : INFINITY)
                                        : std::ldexp(mantissa + 1024, exponent - 25);
  return bits & 0x8000 ? -value : value;
}

double BFloat(uint16_t bits) {
  const uint32_t wide = static_cast<uint32_t>(bits) << 16;
  float value;
  std::memcpy(&value, &wide, sizeof value);
  return value;
}

template <class T>
double At(const Tensor& values, size_t i) {
  T value;
  std::memcpy(&value, values.data() + i * sizeof(T), sizeof(T));
  return static_cast<double>(value);
}

double NumberAt(const Tensor& values, size_t i) {
  uint16_t bits = 0;
  switch (values.dtype()) {
    case DType::kFloat16:
      std::memcpy(&bits, values.data() + 2 * i, 2);
      return Half(bits);
    case DType::kBFloat16:
      std::memcpy(&bits, values.data() + 2 * i, 2);
      return BFloat(bits);
    case DType::kFloat32:
      return At<float>(values, i);
    case DType::kFloat64:
      return At<double>(values, i);
    case DType::kBool:
    case DType::kUInt8:
      return At<uint8_t>(values, i);
    case DType::kInt8:
      return At<int8_t>(values, i);
    case DType::kInt16:
      return At<int16_t>(values, i);
    case DType::kInt32:
      return At<int32_t>(values, i);
    case DType::kInt64:
      return At<int64_t>(values, i);
    case DType::kUInt16:
      return At<uint16_t>(values, i);
    case DType::kUInt32:
      return At<uint32_t>(values, i);
    case DType::kUInt64:
      return At<uint64_t>(values, i);
  }
  return NAN;
}

}  // namespace

EdgeWeights::EdgeWeights(const RawGraph& graph, const std::string& feature, int64_t max_sum) {
  const size_t types = graph.edges.size();
  bool found = false;
  for (const RawEdges& edges : graph.edges) {
    features_.push_back(nullptr);
    for (const RawFeature& candidate : edges.features) {
      if (candidate.name == feature) features_.back() = &candidate.values;
    }
    found |= features_.back() != nullptr;
  }
  if (!found) {
    std::vector<std::string> names;
    for (const RawEdges& edges : graph.edges) {
      for (const RawFeature& candidate : edges.features) names.push_back(candidate.name);
    }
    Throw(ErrorCode::kNotFound, "--edge_weights ", feature, ": no edge type has this feature; ",
          "there are: ", names.empty() ? "none" : Join(names, ", "));
  }
  double sum = 0, positive_sum = 0, count = 0;
  bool whole = true;
  for (size_t e = 0; e < types; e++) {
    const auto stored = static_cast<size_t>(graph.edges[e].stored());
    const std::string type = graph.schema.etype(static_cast<EdgeTypeId>(e)).ToString();
    if (features_[e] && features_[e]->num_elements() != graph.edges[e].stored()) {
      Throw(ErrorCode::kInvalid, "--edge_weights ", feature, " of edge type ", type, " has ",
            features_[e]->num_elements(), " numbers for ", stored,
            " edges; expected one number for each");
    }
    for (size_t i = 0; i < stored; i++) {
      const double value = Value(e, i);
      if (!(value >= 0) || !std::isfinite(value)) {
        Throw(ErrorCode::kInvalid, "--edge_weights ", feature, " of edge type ", type, ": edge ", i,
              " weighs ", value, "; expected a finite number of at least 0");
      }
      whole &= value == std::floor(value);
      sum += value;
      positive_sum += std::max(value, 1.0);
    }
    count += static_cast<double>(stored);
  }
  // Rounding adds at most 1 per edge.
  const double room = static_cast<double>(max_sum);
  if (sum > 0 && !(whole && positive_sum <= room)) {
    factor_ = std::max(0.0, std::min(kAverage * count, room - count)) / sum;
  }
}

double EdgeWeights::Value(size_t etype, size_t edge) const {
  return features_[etype] ? NumberAt(*features_[etype], edge) : 1;
}

int32_t EdgeWeights::of(EdgeTypeId etype, size_t stored_edge) const {
  const double scaled = Value(static_cast<size_t>(etype), stored_edge) * factor_;
  return static_cast<int32_t>(std::max(1.0, std::round(scaled)));
}

}  // namespace graphd
