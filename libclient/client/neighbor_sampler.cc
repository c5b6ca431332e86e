// SPDX-License-Identifier: Apache-2.0
#include "base/strings.h"
#include "client/block_maker.h"
#include "client/feature_rows.h"
#include "client/graph_access.h"
#include "graphd/samplers.h"

namespace graphd {
namespace {

size_t Index(int32_t i) { return static_cast<size_t>(i); }

std::vector<std::vector<int>> OnePerLayer(const std::vector<int>& fanouts) {
  std::vector<std::vector<int>> per_layer;
  for (int fanout : fanouts) per_layer.push_back({fanout});
  return per_layer;
}

}  // namespace

NeighborSampler::NeighborSampler(std::vector<int> fanouts, bool replace, bool edge_ids)
    : NeighborSampler(std::move(fanouts), NeighborOptions{replace, edge_ids}) {}

NeighborSampler::NeighborSampler(std::vector<int> fanouts, NeighborOptions options)
    : NeighborSampler(OnePerLayer(fanouts), std::move(options)) {
  same_for_all_ = true;
}

NeighborSampler::NeighborSampler(std::vector<std::vector<int>> fanouts, NeighborOptions options)
    : fanouts_(std::move(fanouts)), same_for_all_(false), options_(std::move(options)) {
  for (const auto& layer : fanouts_) {
    for (int fanout : layer) {
      if (fanout >= kAllNeighbors) continue;
      Throw(ErrorCode::kInvalid, "fanout ", fanout, ": use -1 for all, or 0 and more");
    }
  }
}

std::vector<EdgePick> NeighborSampler::Picks(const DistGraph& graph, size_t layer) const {
  const std::vector<int>& fanouts = fanouts_[layer];
  const auto num_etypes = graph.schema().num_etypes();
  if (!same_for_all_ && fanouts.size() > Index(num_etypes)) {
    Throw(ErrorCode::kInvalid, "fanouts of ", fanouts.size(), " edge types in layer ", layer,
          ", the graph has ", num_etypes);
  }
  std::vector<EdgePick> picks;
  bool found = options_.column.empty();
  for (EdgeTypeId e = 0; e < num_etypes; e++) {
    EdgePick pick{e};
    pick.fanout = same_for_all_ ? fanouts[0] : Index(e) < fanouts.size() ? fanouts[Index(e)] : 0;
    pick.replace = options_.replace;
    pick.method = options_.method;
    pick.column = options_.column;
    pick.largest = options_.largest;
    if (!options_.column.empty()) {
      bool has = false;
      for (const FeatureInfo& info : graph.access()->features(true, e)) {
        has = has || info.name == options_.column;
      }
      if (!has) {
        pick.column.clear();
        if (pick.method != PickMethod::kLabor) pick.method = PickMethod::kUniform;
      }
      found = found || has;
    }
    picks.push_back(std::move(pick));
  }
  if (!found) Throw(ErrorCode::kNotFound, "no edge type has a feature '", options_.column, "'");
  return picks;
}

MiniBatch NeighborSampler::Sample(const DistGraph& graph, BatchRequest request) const {
  GraphAccess& access = *graph.access();
  GraphAccess::Loan loan(access);
  const auto table = [&](NodeTypeId t) -> RelabelTable& { return access.relabel(*loan, t); };
  MiniBatch batch;
  batch.seeds = UniqueSeeds(graph, request.seeds, table);
  batch.blocks.resize(fanouts_.size());
  FeatureRows rows(access, request.input_features, request.seed_features);
  for (size_t l = fanouts_.size(); l-- > 0;) {
    auto frontier = l + 1 == fanouts_.size() ? batch.seeds : batch.blocks[l + 1].src_nodes;
    std::vector<HopSeeds> seeds(frontier.size());
    for (size_t t = 0; t < frontier.size(); t++) seeds[t].ids = frontier[t];
    const HopOptions options{request.seed, static_cast<uint32_t>(l), options_.edge_ids,
                             request.exclude};
    // What the hop before found is asked for now, in the same messages.
    auto samples = access.Hop(seeds, Picks(graph, l), options, rows.With(frontier));
    batch.blocks[l] = MakeBlock(graph.schema(), std::move(frontier), std::move(samples), table);
  }
  rows.Finish(batch);
  return batch;
}

}  // namespace graphd
