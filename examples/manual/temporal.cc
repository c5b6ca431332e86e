// SPDX-License-Identifier: Apache-2.0
#include <iostream>
#include <vector>

#include "graphd/temporal_sampler.h"

int main() {
  const graphd::DistGraph graph(graphd::Initialize());
  const auto user = graph.schema().NodeTypeIdOf("user");
  const auto follows = graph.schema().EdgeTypeIdOf("follows");

  // The latest 5 followers of each user before the seed's time, and the
  // latest 5 followers of each of those before the same time.
  std::vector<std::vector<int>> fanouts(2, std::vector<int>(4));
  fanouts[0][follows] = fanouts[1][follows] = 5;
  const graphd::TemporalSampler sampler(
      fanouts, {.column = "ts", .edge_ids = true});

  graphd::BatchRequest request;
  request.seeds.resize(3);
  request.seeds[user] = {250, 250, 7};  // user 250 at two times
  request.seed_times.resize(3);
  request.seed_times[user] = {500'000'000'000, 900'000'000'000,
                              900'000'000'000};
  const graphd::MiniBatch batch = sampler.Sample(graph, request);

  const graphd::Block& last = batch.blocks[1];
  const graphd::BlockEdges& edges = last.edges[follows];
  const graphd::Tensor ts =
      graph.edata("ts", follows).Read(edges.edge_ids);
  for (size_t i = 0; i < batch.seeds[user].size(); i++) {
    std::cout << "user " << batch.seeds[user][i] << " before "
              << request.seed_times[user][i] << ":";
    for (int64_t e = edges.indptr[i]; e < edges.indptr[i + 1]; e++) {
      std::cout << ' ' << ts.as<int64_t>()[e];
    }
    std::cout << '\n';
  }
}
