// SPDX-License-Identifier: Apache-2.0
#include <iostream>
#include <vector>

#include "graphd/negative.h"
#include "graphd/walks.h"

int main() {
  const graphd::DistGraph graph(graphd::Initialize());
  const graphd::Schema& schema = graph.schema();
  const auto follows = schema.EdgeTypeIdOf("follows");
  const auto likes = schema.EdgeTypeIdOf("user:likes:post");
  const auto in = schema.EdgeTypeIdOf("post:in:group");

  // The walks go from users to users they follow, to posts those like, to
  // groups.
  const std::vector<int64_t> users{0, 1, 2, 3};
  const graphd::Walks walks =
      graphd::RandomWalk(graph, users, {follows, likes, in}, {.seed = 5});
  std::cout << walks.count << " walks of " << walks.length
            << " steps to a " << schema.ntype(walks.ntypes.back())
            << '\n';

  // The neighbours of each user, found by 20 walks of 3 steps.
  const graphd::VisitedNeighbors near =
      graphd::PinSageNeighbors(graph, users,
                               {.num_traversals = 3,
                                .num_random_walks = 20,
                                .num_neighbors = 5,
                                .metapath = {follows}});
  std::cout << near.indptr.size() - 1 << " lists of neighbours\n";

  const graphd::NegativeEdges none = graphd::GlobalUniformNegatives(
      graph, 100, {.etype = likes, .seed = 5});
  const auto there = graph.HasEdges(none.src, none.dst, likes);
  std::cout << none.src.size() << " pairs, the first is "
            << (there[0] ? "an edge\n" : "no edge\n");
}
