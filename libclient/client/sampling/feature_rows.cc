// SPDX-License-Identifier: Apache-2.0
#include "client/sampling/feature_rows.h"

#include <cstring>

namespace graphd {

FeatureRows::FeatureRows(GraphAccess& access, std::vector<FeatureOfType> input,
                         std::vector<FeatureOfType> seed)
    : access_(access), known_(static_cast<size_t>(access.meta().schema.num_ntypes())) {
  for (auto& feature : input) input_.push_back({std::move(feature), {}, {}});
  for (auto& feature : seed) seed_.push_back({std::move(feature), {}, {}});
  for (const auto* wanted : {&input_, &seed_}) {
    for (const Wanted& one : *wanted) access_.feature({one.feature.ntype, one.feature.name});
  }
}

Tensor FeatureRows::NewRows(const FeatureOfType& feature, size_t count) const {
  const FeatureInfo& info = access_.feature({feature.ntype, feature.name});
  std::vector<int64_t> shape = info.row_shape;
  shape.insert(shape.begin(), static_cast<int64_t>(count));
  return access_.NewTensor(info.dtype, std::move(shape));
}

Tensor FeatureRows::Ask(const FeatureOfType& feature, size_t begin, size_t end,
                        std::vector<HopRows>& rows) const {
  Tensor piece = NewRows(feature, end - begin);
  rows.push_back({feature.ntype, feature.name, begin, piece.data()});
  return piece;
}

void FeatureRows::AskOfSeeds(const std::vector<std::vector<int64_t>>& seeds,
                             std::vector<HopRows>& rows) {
  if (has_seeds_) return;
  for (Wanted& wanted : seed_) {
    const auto t = static_cast<size_t>(wanted.feature.ntype);
    wanted.of_seeds = Ask(wanted.feature, 0, seeds[t].size(), rows);
  }
  has_seeds_ = true;
}

std::vector<HopRows> FeatureRows::With(const std::vector<std::vector<int64_t>>& frontier) {
  std::vector<HopRows> rows;
  // If all partitions are mapped, there is no message that could carry rows, too, and rows that are
  // read in pieces would have to be copied once more.
  if (access_.all_mapped()) return rows;
  AskOfSeeds(frontier, rows);
  for (Wanted& wanted : input_) {
    const auto t = static_cast<size_t>(wanted.feature.ntype);
    if (frontier[t].size() == known_[t]) continue;
    wanted.pieces.push_back(Ask(wanted.feature, known_[t], frontier[t].size(), rows));
  }
  for (size_t t = 0; t < known_.size(); t++) known_[t] = frontier[t].size();
  return rows;
}

void FeatureRows::Finish(MiniBatch& batch) {
  std::vector<HopRows> rows;
  std::vector<HopSeeds> rest(known_.size());
  AskOfSeeds(batch.seeds, rows);
  if (!rows.empty()) {
    for (size_t t = 0; t < rest.size(); t++) rest[t].ids = batch.seeds[t];
    access_.Hop(rest, {}, {}, rows);
    rows.clear();
  }
  for (size_t t = 0; t < rest.size(); t++) {
    rest[t].ids = std::span(batch.input_nodes(static_cast<NodeTypeId>(t))).subspan(known_[t]);
  }
  for (Wanted& wanted : input_) {
    const auto t = static_cast<size_t>(wanted.feature.ntype);
    Tensor all = NewRows(wanted.feature, known_[t] + rest[t].ids.size());
    size_t at = 0;
    for (const Tensor& piece : wanted.pieces) {
      if (piece.num_bytes() > 0) std::memcpy(all.data() + at, piece.data(), piece.num_bytes());
      at += piece.num_bytes();
    }
    wanted.pieces.clear();
    if (!rest[t].ids.empty()) {
      rows.push_back({wanted.feature.ntype, wanted.feature.name, 0, all.data() + at});
    }
    batch.input_features.push_back(std::move(all));
  }
  for (Wanted& wanted : seed_) batch.seed_features.push_back(std::move(wanted.of_seeds));
  if (!rows.empty()) access_.Hop(rest, {}, {}, rows);
}

}  // namespace graphd
