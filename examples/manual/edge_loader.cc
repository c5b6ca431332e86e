// SPDX-License-Identifier: Apache-2.0
#include <iostream>
#include <numeric>
#include <vector>

#include "graphd/edge_data_loader.h"

int main() {
  const graphd::DistGraph graph(graphd::Initialize());
  const auto likes = graph.schema().EdgeTypeIdOf("user:likes:post");
  std::vector<int64_t> edges(graph.num_edges(likes));
  std::iota(edges.begin(), edges.end(), 0);
  graphd::EdgeLoaderOptions options;
  options.exclude = graphd::ExcludeEdges::kSelf;
  options.negative_sampler =
      std::make_shared<graphd::negative_sampler::PerSourceUniform>(3);
  graphd::DistEdgeDataLoader loader(graph, edges, likes,
                                    graphd::NeighborSampler({5}),
                                    {.batch_size = 500}, options);
  for (loader.StartEpoch(0); auto batch = loader.Next();) {
    const graphd::PairEdges& positive = batch->positive[likes];
    const graphd::PairEdges& negative = batch->negative[likes];
    // The model's output has a row for each seed of the batch. The score
    // of edge i uses rows positive.src[i] of users and positive.dst[i]
    // of posts.
    std::cout << positive.src.size() << " positive, "
              << negative.src.size() << " negative edges\n";
  }
}
