// SPDX-License-Identifier: Apache-2.0
#include "link_prediction/negatives.h"

#include <random>
#include <string>

namespace link_prediction {

using graphd::NegativeEdges;

PopularDestinations::PopularDestinations(int k,
                                         std::shared_ptr<const std::vector<int64_t>> destinations)
    : k_(k), destinations_(std::move(destinations)) {
  if (k >= 1 && k <= 1000 && (!destinations_ || !destinations_->empty())) return;
  throw graphd::Error(
      graphd::ErrorCode::kInvalid,
      "k = " + std::to_string(k) + " popular destinations" +
          (destinations_ ? " of " + std::to_string(destinations_->size()) + " edges" : "") +
          ": use 1..1000, and edges to draw from");
}

NegativeEdges PopularDestinations::Sample(const graphd::DistGraph& graph, graphd::EdgeTypeId etype,
                                          std::span<const int64_t> src,
                                          std::span<const int64_t> dst, uint64_t seed) const {
  (void)graph, (void)etype;
  const std::span<const int64_t> from = destinations_ ? std::span(*destinations_) : dst;
  NegativeEdges drawn;
  drawn.src.reserve(src.size() * static_cast<size_t>(k_));
  drawn.dst.reserve(src.size() * static_cast<size_t>(k_));
  std::mt19937_64 random(seed);
  for (const int64_t u : src) {
    for (int i = 0; i < k_; ++i) {
      drawn.src.push_back(u);
      drawn.dst.push_back(from[random() % from.size()]);
    }
  }
  return drawn;
}

NegativeEdges Both::Sample(const graphd::DistGraph& graph, graphd::EdgeTypeId etype,
                           std::span<const int64_t> src, std::span<const int64_t> dst,
                           uint64_t seed) const {
  NegativeEdges all = first_->Sample(graph, etype, src, dst, seed);
  const NegativeEdges more = second_->Sample(graph, etype, src, dst, seed + 1);
  all.src.insert(all.src.end(), more.src.begin(), more.src.end());
  all.dst.insert(all.dst.end(), more.dst.begin(), more.dst.end());
  return all;
}

}  // namespace link_prediction
