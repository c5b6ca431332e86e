// SPDX-License-Identifier: Apache-2.0
#include "link_prediction/edge_sets.h"

#include <algorithm>
#include <numeric>
#include <utility>

namespace link_prediction {
namespace {

using graphd::EdgeEnds;
using graphd::EdgeTypeId;

// SplitMix64's finalizer.
uint64_t Mix(uint64_t x) {
  x += 0x9e3779b97f4a7c15;
  x = (x ^ (x >> 30)) * 0xbf58476d1ce4e5b9;
  x = (x ^ (x >> 27)) * 0x94d049bb133111eb;
  return x ^ (x >> 31);
}

EdgeEnds AllEnds(const graphd::DistGraph& graph, EdgeTypeId etype) {
  std::vector<int64_t> ids(static_cast<size_t>(graph.num_edges(etype)));
  std::iota(ids.begin(), ids.end(), int64_t{0});
  return graph.FindEdges(ids, etype);
}

std::vector<int64_t> HeldOut(const EdgeEnds& ends) {
  std::vector<int64_t> ids;
  for (size_t i = 0; i < ends.src.size(); ++i) {
    if (SetOf(ends.src[i], ends.dst[i]) != EdgeSet::kTrain) ids.push_back(static_cast<int64_t>(i));
  }
  return ids;
}

void CheckReverse(const graphd::DistGraph& graph, EdgeTypeId etype, EdgeTypeId reverse) {
  const graphd::Schema& schema = graph.schema();
  if (schema.src_type(etype) == schema.dst_type(reverse) &&
      schema.dst_type(etype) == schema.src_type(reverse)) {
    return;
  }
  throw graphd::Error(graphd::ErrorCode::kInvalid,
                      "graph '" + graph.name() + "': " + schema.etype(reverse).ToString() +
                          " is not a reverse of " + schema.etype(etype).ToString() +
                          ", it joins other node types; name another with --reverse_etype");
}

}  // namespace

EdgeSet SetOf(int64_t u, int64_t v) {
  const auto [low, high] = std::minmax(u, v);
  const uint64_t hash = Mix(Mix(static_cast<uint64_t>(low)) ^ static_cast<uint64_t>(high));
  const uint64_t tenth = hash % 10;
  return tenth < 8 ? EdgeSet::kTrain : tenth == 8 ? EdgeSet::kValid : EdgeSet::kTest;
}

EdgeSets::EdgeSets(const graphd::DistGraph& graph, EdgeTypeId etype, EdgeTypeId reverse)
    : etype_(etype), reverse_(reverse) {
  const graphd::Schema& schema = graph.schema();
  CheckReverse(graph, etype, reverse);
  ends_ = AllEnds(graph, etype);
  popularity_.assign(static_cast<size_t>(graph.num_nodes(schema.dst_type(etype))), 0);
  std::vector<int64_t> training_dst;
  for (size_t i = 0; i < ends_.src.size(); ++i) {
    const EdgeSet set = SetOf(ends_.src[i], ends_.dst[i]);
    set_of_.push_back(set);
    ++sizes_[static_cast<size_t>(set)];
    if (set != EdgeSet::kTrain) continue;
    popularity_[static_cast<size_t>(ends_.dst[i])] += 1;
    training_.emplace_back(ends_.src[i], ends_.dst[i]);
    training_dst.push_back(ends_.dst[i]);
  }
  std::sort(training_.begin(), training_.end());
  if (const int64_t least = *std::min_element(sizes_, sizes_ + 3); least == 0) {
    throw graphd::Error(graphd::ErrorCode::kInvalid,
                        "graph '" + graph.name() + "': " + std::to_string(ends_.src.size()) +
                            " edges of type " + schema.etype(etype).ToString() +
                            " are too few to train on, validate and test");
  }
  training_dst_ = std::make_shared<const std::vector<int64_t>>(std::move(training_dst));
  held_out_.resize(static_cast<size_t>(schema.num_etypes()));
  held_out_[static_cast<size_t>(etype)] = HeldOut(ends_);
  if (reverse != etype) {
    held_out_[static_cast<size_t>(reverse)] = HeldOut(AllEnds(graph, reverse));
  }
}

bool EdgeSets::IsTraining(int64_t src, int64_t dst) const {
  return std::binary_search(training_.begin(), training_.end(), std::pair(src, dst));
}

graphd::Tensor EdgeSets::Mask(EdgeSet set) const {
  graphd::Tensor mask =
      graphd::Tensor::Empty(graphd::DType::kUInt8, {static_cast<int64_t>(set_of_.size())});
  std::transform(set_of_.begin(), set_of_.end(), mask.as<uint8_t>().begin(),
                 [set](EdgeSet of_edge) { return of_edge == set ? uint8_t{1} : uint8_t{0}; });
  return mask;
}

}  // namespace link_prediction
