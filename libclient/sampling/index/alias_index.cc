// SPDX-License-Identifier: Apache-2.0
#include "sampling/index/alias_index.h"

#include <algorithm>
#include <cmath>

#include "base/threads/watched_thread.h"
#include "sampling/index/index_arrays.h"

namespace graphd {
namespace {

// A builder of the alias table of one row. Its memory is reused from row to row.
class Vose {
 public:
  // Fills `cells` (threshold, alias) for the weights, of which at least one is above 0. Weights are
  // divided by the largest one, so that neither huge nor tiny weights cause an overflow.
  void Build(std::span<const double> weights, uint32_t* cells) {
    const size_t n = weights.size();
    const auto largest =
        static_cast<size_t>(std::max_element(weights.begin(), weights.end()) - weights.begin());
    double sum = 0;
    for (double w : weights) sum += w / weights[largest];
    const double scale = static_cast<double>(n) / sum;
    scaled_.resize(n);
    small_.clear();
    large_.clear();
    for (size_t i = 0; i < n; i++) {
      scaled_[i] = weights[i] / weights[largest] * scale;
      (scaled_[i] < 1 ? small_ : large_).push_back(static_cast<uint32_t>(i));
    }
    while (!small_.empty() && !large_.empty()) {
      const uint32_t low = small_.back(), high = large_.back();
      small_.pop_back();
      Put(cells, low, scaled_[low], high);
      scaled_[high] -= 1 - scaled_[low];
      if (scaled_[high] < 1) {
        large_.pop_back();
        small_.push_back(high);
      }
    }
    for (uint32_t i : large_) Put(cells, i, 1, i);
    // Without rounding errors, no cell would be left in small_. A cell that is left gets its own
    // edge for the whole of it, but a cell whose edge has weight 0, which must never be drawn, gets
    // the edge of the largest weight.
    for (uint32_t i : small_) {
      if (weights[i] > 0) {
        Put(cells, i, 1, i);
      } else {
        Put(cells, i, 0, static_cast<uint32_t>(largest));
      }
    }
  }

 private:
  static void Put(uint32_t* cells, uint32_t i, double keep, uint32_t alias) {
    constexpr double kOne = 4294967296.0;
    const double threshold = std::clamp(std::nearbyint(keep * kOne), 0.0, kOne - 1);
    cells[2 * size_t{i}] = static_cast<uint32_t>(threshold);
    cells[2 * size_t{i} + 1] = alias;
  }

  std::vector<double> scaled_;
  std::vector<uint32_t> small_, large_;
};

double CheckedWeight(double weight, const Partition& partition, EdgeTypeId etype,
                     const std::string& feature, uint64_t edge_row) {
  if (weight >= 0 && std::isfinite(weight)) return weight;
  Throw(ErrorCode::kInvalid, "feature '", feature, "' of edge type ",
        partition.meta().schema.etype(etype).ToString(), ": edge ",
        partition.meta().book.edges().FromLocalRow(partition.id(), etype,
                                                   static_cast<int64_t>(edge_row)),
        " has weight ", weight, "; expected a finite number >= 0");
}

// Calls f with a function that returns the weight of a local edge row as a double. The feature must
// have an allowed dtype.
template <class F>
void WithWeights(const Tensor& column, F&& f) {
  switch (column.dtype()) {
    case DType::kFloat32:
      return f(
          [values = column.as<float>()](uint64_t row) { return static_cast<double>(values[row]); });
    case DType::kFloat64:
      return f([values = column.as<double>()](uint64_t row) { return values[row]; });
    default:
      return f(
          [bytes = column.data()](uint64_t row) { return bytes[row] != std::byte{0} ? 1.0 : 0.0; });
  }
}

}  // namespace

std::shared_ptr<const Segment> BuildAliasIndex(const Partition& partition, EdgeTypeId etype,
                                               const Csc& csc, const std::string& feature) {
  const size_t rows = csc.indptr.size() - 1;
  const auto num_edges = static_cast<int64_t>(csc.indices.size());
  SegmentLayout layout;
  layout.Add("cells", DType::kUInt32, {num_edges, 2});
  layout.Add("totals", DType::kFloat64, {static_cast<int64_t>(rows)});
  layout.Add("positive", DType::kUInt32, {static_cast<int64_t>(rows)});
  SegmentWriter writer("graphd-index-alias", std::move(layout));
  const auto cells = writer.array<uint32_t>("cells");
  const auto totals = writer.array<double>("totals");
  const auto positive = writer.array<uint32_t>("positive");
  Vose vose;
  std::vector<double> weights;
  WithWeights(partition.edge_feature(etype, feature).ReadAll(), [&](auto weight_of) {
    ForRows(csc.indptr, [&](size_t first, size_t last) {
      for (size_t row = first; row < last; row++) {
        const uint64_t begin = csc.indptr[row];
        weights.resize(csc.indptr[row + 1] - begin);
        for (size_t i = 0; i < weights.size(); i++) {
          const uint64_t edge = csc.edge_rows ? (*csc.edge_rows)[begin + i] : begin + i;
          weights[i] = CheckedWeight(weight_of(edge), partition, etype, feature, edge);
          totals[row] += weights[i];
          positive[row] += weights[i] > 0;
        }
        if (!std::isfinite(totals[row])) {
          Throw(ErrorCode::kInvalid, "feature '", feature, "' of edge type ",
                partition.meta().schema.etype(etype).ToString(), ": the weights of the ",
                weights.size(), " edges of a node add up to ", totals[row], "; scale them down");
        }
        if (positive[row] > 0) vose.Build(weights, cells.data() + 2 * begin);
      }
    });
  });
  return std::move(writer).Seal();
}

AliasIndex::AliasIndex(std::shared_ptr<const Segment> segment, const Csc& csc, Tensor weights)
    : segment_(std::move(segment)),
      edge_rows_(csc.edge_rows),
      weights_(std::move(weights)),
      column_(weights_.data()) {
  const auto rows = static_cast<int64_t>(csc.indptr.size() - 1);
  const auto num_edges = static_cast<int64_t>(csc.indices.size());
  cells_ = reinterpret_cast<const Cell*>(
      IndexArray(*segment_, "alias", "cells", DType::kUInt32, {num_edges, 2}).data());
  totals_ = IndexArray(*segment_, "alias", "totals", DType::kFloat64, {rows}).as<double>();
  positive_ = IndexArray(*segment_, "alias", "positive", DType::kUInt32, {rows}).as<uint32_t>();
  if (weights_.shape().size() != 1) {
    Throw(ErrorCode::kCorrupt, "weights have ", weights_.shape().size(), " dimensions, expected 1");
  }
  switch (weights_.dtype()) {
    case DType::kFloat32:
      kind_ = Kind::kFloat;
      break;
    case DType::kFloat64:
      kind_ = Kind::kDouble;
      break;
    case DType::kBool:
    case DType::kUInt8:
    case DType::kInt8:
      kind_ = Kind::kMask;
      break;
    default:
      Throw(ErrorCode::kCorrupt, "weights are ", DTypeName(weights_.dtype()),
            ", expected float32, float64, bool, uint8 or int8");
  }
}

}  // namespace graphd
