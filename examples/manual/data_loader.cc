// SPDX-License-Identifier: Apache-2.0
#include <iostream>
#include <numeric>
#include <vector>

#include "graphd/dist_data_loader.h"
#include "graphd/dist_graph.h"

int main() {
  const graphd::DistGraph graph(graphd::Initialize());
  const auto user = graph.schema().NodeTypeIdOf("user");
  const graphd::DistTensor age = graph.ndata("age", user);
  std::vector<int64_t> users(graph.num_nodes(user));
  std::iota(users.begin(), users.end(), 0);
  graphd::DistDataLoader loader(
      graph.session(), users,
      [&](std::span<const int64_t> some, const graphd::BatchInfo&) {
        return age.Read(some);  // called by a thread, ahead of Next()
      },
      {.batch_size = 100,
       .shuffle = true,
       .drop_last = true,
       .num_workers = 2});
  for (loader.StartEpoch(0); auto ages = loader.Next();) {
    std::cout << ages->num_rows() << " ages\n";
  }
}
