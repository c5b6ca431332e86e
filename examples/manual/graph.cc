// SPDX-License-Identifier: Apache-2.0
#include <iostream>
#include <vector>

#include "graphd/subgraph.h"

int main() {
  const graphd::DistGraph graph(graphd::Initialize());
  const graphd::Schema& schema = graph.schema();
  for (graphd::NodeTypeId t = 0; t < schema.num_ntypes(); t++) {
    std::cout << graph.num_nodes(t) << " nodes " << schema.ntype(t)
              << '\n';
  }
  const auto likes = schema.EdgeTypeIdOf("user:likes:post");
  const auto post = schema.NodeTypeIdOf("post");
  const std::vector<int64_t> edges{0, 450, 899};
  const graphd::EdgeEnds ends = graph.FindEdges(edges, likes);
  const std::vector<int64_t> degrees = graph.InDegrees(ends.dst, likes);
  const graphd::DistTensor feat = graph.ndata("feat", post);
  const graphd::Tensor rows = feat.Read(ends.dst);  // [3, 8]
  for (size_t i = 0; i < edges.size(); i++) {
    std::cout << "user " << ends.src[i] << " likes post " << ends.dst[i]
              << " of partition "
              << graph.partition_book().nodes().Owner(post, ends.dst[i])
              << ", as do " << degrees[i] - 1 << " others\n";
  }
  std::cout << "rows of " << rows.shape()[1] << " numbers, "
            << rows.num_bytes() << " bytes\n";
  std::vector<float> pinned(3 * 8);  // the caller's own memory
  feat.ReadInto(ends.dst, std::as_writable_bytes(std::span(pinned)));
  std::cout << (pinned[0] == rows.as<float>()[0] ? "equal\n" : "not\n");
}
