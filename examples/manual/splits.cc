// SPDX-License-Identifier: Apache-2.0
#include <iostream>

#include "graphd/node_split.h"

int main() {
  const graphd::DistGraph graph(graphd::Initialize());
  const auto& schema = graph.schema();
  const auto mask =
      graph.ndata("train_mask", schema.NodeTypeIdOf("user"));
  // This trainer's share is NodeSplit(graph, mask). These are the sizes
  // of the shares of four trainers.
  for (bool even : {true, false}) {
    std::cout << (even ? "even:" : "own: ");
    for (int rank = 0; rank < 4; rank++) {
      const auto share =
          NodeSplit(graph, mask,
                    {.rank = rank, .world_size = 4, .force_even = even});
      std::cout << ' ' << share.size();
    }
    std::cout << '\n';
  }
  // Split edges by a mask in the memory of this process.
  const auto in = schema.EdgeTypeIdOf("post:in:group");
  graphd::Tensor some =
      graphd::Tensor::Empty(graphd::DType::kUInt8, {graph.num_edges(in)});
  for (size_t i = 0; auto& chosen : some.as<uint8_t>())
    chosen = i++ % 5 == 0;
  std::cout << EdgeSplit(graph, some, in).size() << " edges\n";
}
