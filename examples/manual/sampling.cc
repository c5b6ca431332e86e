// SPDX-License-Identifier: Apache-2.0
#include <iostream>
#include <vector>

#include "graphd/block.h"
#include "graphd/sampling.h"

int main() {
  const graphd::DistGraph graph(graphd::Initialize());
  const auto user = graph.schema().NodeTypeIdOf("user");
  const auto follows = graph.schema().EdgeTypeIdOf("follows");
  const std::vector<int64_t> seeds{7, 250};

  // Two followers of each user, drawn in proportion to "w".
  const graphd::Neighbors two = graphd::SampleNeighbors(
      graph, seeds, {.fanout = 2, .seed = 1, .prob = "w"}, follows);
  std::cout << two.neighbors.size() << " neighbours\n";

  // The latest three followers of each user, and one user it follows.
  const std::vector<graphd::SamplingRule> rules{
      {.etype = follows,
       .method = graphd::SamplingMethod::kTopK,
       .fanout = 3,
       .column = "ts"},
      {.etype = follows,
       .direction = graphd::Direction::kOut,
       .fanout = 1}};
  std::vector<graphd::HopSeeds> of_type(user + 1);
  of_type[user].ids = seeds;
  for (const auto& hop : graphd::SampleHop(graph, of_type, rules)) {
    std::cout << hop.indptr[1] << " of user 7, "
              << hop.indptr[2] - hop.indptr[1] << " of user 250\n";
  }
}
