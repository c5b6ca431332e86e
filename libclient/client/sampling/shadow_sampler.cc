// SPDX-License-Identifier: Apache-2.0
#include "graphd/shadow_sampler.h"

#include <algorithm>
#include <numeric>

#include "base/index.h"
#include "graphd/subgraph.h"

namespace graphd {
namespace {

NeighborOptions WithoutIds(NeighborOptions options) {
  options.edge_ids = false;
  return options;
}

// Converts the edges of a subgraph, which are ordered by destination, to CSC without the excluded
// ones.
BlockEdges Rows(EdgeTypeId etype, const SubgraphEdges& edges, size_t destinations,
                std::vector<int64_t> exclude, bool edge_ids) {
  BlockEdges rows;
  rows.etype = etype;
  rows.indptr.assign(destinations + 1, 0);
  std::sort(exclude.begin(), exclude.end());
  for (size_t i = 0; i < edges.edge_ids.size(); i++) {
    if (std::binary_search(exclude.begin(), exclude.end(), edges.edge_ids[i])) continue;
    rows.indptr[Index(edges.dst[i]) + 1]++;
    rows.indices.push_back(static_cast<int32_t>(edges.src[i]));
    if (edge_ids) rows.edge_ids.push_back(edges.edge_ids[i]);
  }
  std::partial_sum(rows.indptr.begin(), rows.indptr.end(), rows.indptr.begin());
  return rows;
}

}  // namespace

ShadowSampler::ShadowSampler(const std::vector<int>& fanouts, NeighborOptions options)
    : ShadowSampler(LayerFanouts(fanouts), std::move(options)) {}

ShadowSampler::ShadowSampler(LayerFanouts fanouts, NeighborOptions options)
    : hops_(std::move(fanouts), WithoutIds(options)), edge_ids_(options.edge_ids) {}

MiniBatch ShadowSampler::Sample(const DistGraph& graph, BatchRequest request) const {
  const Schema& schema = graph.schema();
  std::vector<std::vector<int64_t>> exclude = request.exclude;
  exclude.resize(Index(schema.num_etypes()));
  MiniBatch batch = hops_.Sample(graph, std::move(request));
  Block block;
  block.src_nodes = batch.blocks.empty() ? batch.seeds : std::move(batch.blocks[0].src_nodes);
  const Subgraph subgraph = NodeSubgraph(graph, block.src_nodes);
  for (const auto& nodes : block.src_nodes) {
    block.num_dst.push_back(static_cast<int64_t>(nodes.size()));
  }
  for (EdgeTypeId e = 0; e < schema.num_etypes(); e++) {
    const size_t destinations = block.src_nodes[Index(schema.dst_type(e))].size();
    block.edges.push_back(
        Rows(e, subgraph.edges[Index(e)], destinations, std::move(exclude[Index(e)]), edge_ids_));
  }
  batch.blocks.clear();
  batch.blocks.push_back(std::move(block));
  return batch;
}

}  // namespace graphd
