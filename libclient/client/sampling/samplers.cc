// SPDX-License-Identifier: Apache-2.0
#include "graphd/samplers.h"

#include <utility>

#include "base/strings.h"
#include "client/routing/graph_access.h"
#include "client/sampling/block_maker.h"
#include "client/sampling/feature_rows.h"
#include "client/sampling/rules_by_edge_type.h"

namespace graphd {
namespace {

std::vector<std::vector<int>> OnePerLayer(const std::vector<int>& fanouts) {
  std::vector<std::vector<int>> per_layer;
  for (int fanout : fanouts) per_layer.push_back({fanout});
  return per_layer;
}

}  // namespace

LayerFanouts::LayerFanouts(const std::vector<int>& fanouts) : LayerFanouts(OnePerLayer(fanouts)) {
  same_for_all_ = true;
}

LayerFanouts::LayerFanouts(std::vector<std::vector<int>> fanouts) : fanouts_(std::move(fanouts)) {
  for (const auto& layer : fanouts_) {
    for (int fanout : layer) {
      if (fanout >= kAllNeighbors) continue;
      Throw(ErrorCode::kInvalid, "fanout ", fanout, ": use -1 for all, or 0 and more");
    }
  }
}

std::vector<int> LayerFanouts::OfTypes(size_t layer, int32_t num_types) const {
  const std::vector<int>& given = fanouts_.at(layer);
  const auto count = static_cast<size_t>(num_types);
  if (same_for_all_) return std::vector<int>(count, given[0]);
  if (given.size() > count) {
    Throw(ErrorCode::kInvalid, "fanouts of ", given.size(), " types in layer ", layer,
          ", the graph has ", count);
  }
  std::vector<int> of_types = given;
  of_types.resize(count, 0);
  return of_types;
}

NeighborSampler::NeighborSampler(std::vector<int> fanouts, bool replace, bool edge_ids)
    : NeighborSampler(LayerFanouts(fanouts), NeighborOptions{replace, edge_ids}) {}

NeighborSampler::NeighborSampler(std::vector<int> fanouts, NeighborOptions options)
    : NeighborSampler(LayerFanouts(fanouts), std::move(options)) {}

NeighborSampler::NeighborSampler(LayerFanouts fanouts, NeighborOptions options)
    : fanouts_(std::move(fanouts)), options_(std::move(options)) {}

MiniBatch NeighborSampler::Sample(const DistGraph& graph, BatchRequest request) const {
  GraphAccess& access = *graph.access();
  GraphAccess::Loan loan(access);
  const auto table = [&](NodeTypeId t) -> RelabelTable& { return access.relabel(*loan, t); };
  MiniBatch batch;
  batch.seeds = UniqueSeeds(graph, request.seeds, table);
  batch.blocks.resize(fanouts_.num_layers());
  SamplingRule how;
  how.method = options_.method;
  how.replace = options_.replace;
  how.column = options_.column;
  how.largest = options_.largest;
  FeatureRows rows(access, request.input_features, request.seed_features);
  for (size_t l = fanouts_.num_layers(); l-- > 0;) {
    auto frontier = l + 1 == fanouts_.num_layers() ? batch.seeds : batch.blocks[l + 1].src_nodes;
    std::vector<HopSeeds> seeds(frontier.size());
    for (size_t t = 0; t < frontier.size(); t++) seeds[t].ids = frontier[t];
    const HopOptions options{request.seed, static_cast<uint32_t>(l), options_.edge_ids,
                             request.exclude};
    // The features of the nodes that the previous hop found are requested in the same messages.
    auto samples =
        access.Hop(seeds, RulesByEdgeType(graph, fanouts_, l, how), options, rows.With(frontier));
    batch.blocks[l] = MakeBlock(graph.schema(), std::move(frontier), std::move(samples), table);
  }
  rows.Finish(batch);
  return batch;
}

}  // namespace graphd
