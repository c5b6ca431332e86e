// SPDX-License-Identifier: Apache-2.0
#include <iostream>
#include <vector>

#include "graphd/samplers.h"

int main() {
  const graphd::DistGraph graph(graphd::Initialize());
  const graphd::Schema& schema = graph.schema();
  const auto group = schema.NodeTypeIdOf("group");

  // A fanout per layer and edge type: all posts and at most 4 users of a
  // group, then 2 users of each post and 2 followers of each user.
  std::vector<std::vector<int>> fanouts(2, std::vector<int>(4));
  fanouts[1][schema.EdgeTypeIdOf("post:in:group")] = -1;
  fanouts[1][schema.EdgeTypeIdOf("user:likes:group")] = 4;
  fanouts[0][schema.EdgeTypeIdOf("user:likes:post")] = 2;
  fanouts[0][schema.EdgeTypeIdOf("user:follows:user")] = 2;
  const graphd::NeighborSampler sampler(fanouts, {.edge_ids = true});

  std::vector<std::vector<int64_t>> seeds(3);
  seeds[group] = {0, 1, 2};
  const graphd::MiniBatch batch = sampler.Sample(graph, seeds, 17);
  const graphd::Block& last = batch.blocks[1];
  std::cout << last.num_dst[group] << " groups, "
            << last.edges[0].indices.size() << " edges from posts, "
            << last.edges[2].indices.size() << " from users\n";
  const graphd::BlockEdges& in = last.edges[0];  // post:in:group
  for (int64_t i = in.indptr[0]; i < in.indptr[1] && i < 2; i++) {
    std::cout << "group 0 has post " << last.src_nodes[1][in.indices[i]]
              << " by edge " << in.edge_ids[i] << '\n';
  }
}
