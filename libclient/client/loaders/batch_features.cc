// SPDX-License-Identifier: Apache-2.0
#include "client/loaders/batch_features.h"

#include "base/strings.h"

namespace graphd {
namespace {

// Returns the ids of the sampled edges of a type in a block; empty if the sampler left the type
// out.
std::span<const int64_t> EdgesOf(const Block& block, EdgeTypeId etype, const std::string& feature) {
  for (const BlockEdges& edges : block.edges) {
    if (edges.etype != etype) continue;
    if (edges.edge_ids.size() != edges.indices.size()) {
      Throw(ErrorCode::kInvalid, "edge feature '", feature,
            "' is requested, but the sampler returns no edge ids; make it with edge_ids = true");
    }
    return edges.edge_ids;
  }
  return {};
}

}  // namespace

BatchFeatures::BatchFeatures(const DistGraph& graph, const LoaderOptions& options) {
  const auto node_features = [&](const std::vector<NodeFeature>& wanted) {
    std::vector<FeatureOfType> found;
    for (const NodeFeature& feature : wanted) {
      const NodeTypeId ntype = feature.ntype == kTypeOfOptions ? options.ntype : feature.ntype;
      graph.ndata(feature.name, ntype);  // throws if it does not exist
      found.push_back({ntype, feature.name});
    }
    return found;
  };
  inputs_ = node_features(options.input_features);
  seeds_ = node_features(options.seed_features);
  for (const EdgeFeature& feature : options.edge_features) {
    edges_.push_back({feature.etype, graph.edata(feature.name, feature.etype)});
  }
}

BatchRequest BatchFeatures::Request(std::vector<std::vector<int64_t>> seeds, uint64_t seed) const {
  return {std::move(seeds), seed, {}, inputs_, seeds_};
}

void BatchFeatures::FetchOfEdges(NodeBatch& batch, const std::stop_token& stop) const {
  for (const Block& block : batch.blocks) {
    auto& of_layer = batch.edge_features.emplace_back();
    for (const OfType& edge : edges_) {
      if (stop.stop_requested()) return;
      of_layer.push_back(edge.tensor.Read(EdgesOf(block, edge.type, edge.tensor.name())));
    }
  }
}

}  // namespace graphd
