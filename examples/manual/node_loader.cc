// SPDX-License-Identifier: Apache-2.0
#include <iostream>

#include "graphd/data_loader.h"
#include "graphd/node_split.h"

int main() {
  const graphd::DistGraph graph(graphd::Initialize());
  const auto user = graph.schema().NodeTypeIdOf("user");
  const auto mine = NodeSplit(graph, graph.ndata("train_mask", user));
  graphd::DistNodeDataLoader loader(graph, mine,
                                    graphd::NeighborSampler({5, 10}),
                                    {.batch_size = 64,
                                     .shuffle = true,
                                     .num_workers = 2,
                                     .input_features = {"feat"},
                                     .seed_features = {"age"},
                                     .ntype = user});
  std::cout << loader.num_batches() << " batches\n";
  for (int epoch = 0; epoch < 2; epoch++) {
    size_t users = 0;
    loader.StartEpoch(epoch);
    while (auto batch = loader.Next()) {
      users += batch->seeds[user].size();
      const graphd::Tensor& input = batch->input_features[0];
      if (input.num_rows() != std::ssize(batch->input_nodes(user)))
        return 1;
      // Here the model takes batch->blocks, input and
      // batch->seed_features[0].
    }
    std::cout << "epoch " << epoch << ": " << users << " users\n";
  }
}
