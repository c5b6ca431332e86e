// SPDX-License-Identifier: Apache-2.0
// The C++ side of bench/client/python_bench.py. It loads mini-batches of the graph that the
// environment names (GRAPHD_SERVER_NAME and so on), with edge ids, as the Python side does. For
// each line of its input it runs an epoch and prints the seconds that it took, so that the two
// programs can alternate. For a line "hold", each batch is kept until the next one exists, as in a
// Python `for` loop.
#include <cstdio>
#include <cstdlib>
#include <iostream>
#include <numeric>
#include <optional>
#include <string>

#include "base/clock.h"
#include "graphd/data_loader.h"
#include "graphd/initialize.h"

namespace graphd::bench {
namespace {

int Run(int workers, int64_t batch_size, int64_t num_seeds, std::vector<int> fanouts) {
  const DistGraph graph(Initialize());
  std::vector<int64_t> seeds(static_cast<size_t>(num_seeds));
  std::iota(seeds.begin(), seeds.end(), 0);
  const NeighborSampler sampler(std::move(fanouts), NeighborOptions{.edge_ids = true});
  DistNodeDataLoader loader(graph, seeds, sampler,
                            {.batch_size = batch_size,
                             .shuffle = true,
                             .num_workers = workers,
                             .input_features = {"feat"},
                             .seed_features = {"label"}});
  std::string line;
  for (int epoch = 0; std::getline(std::cin, line); epoch++) {
    const Clock::time_point begin = Clock::now();
    int64_t rows = 0;
    const bool hold = line == "hold";
    loader.StartEpoch(epoch);
    std::optional<NodeBatch> held;
    while (auto batch = loader.Next()) {
      rows += batch->input_features[0].num_rows();
      if (hold) held = std::move(batch);
    }
    std::printf("%.9f %lld\n", SecondsSince(begin), static_cast<long long>(rows));
    std::fflush(stdout);
  }
  return 0;
}

}  // namespace
}  // namespace graphd::bench

int main(int argc, char** argv) {
  if (argc < 5) {
    std::fprintf(stderr, "usage: loader_bench WORKERS BATCH_SIZE SEEDS FANOUT...\n");
    return 2;
  }
  std::vector<int> fanouts;
  for (int i = 4; i < argc; i++) fanouts.push_back(std::atoi(argv[i]));
  return graphd::bench::Run(std::atoi(argv[1]), std::atoll(argv[2]), std::atoll(argv[3]),
                            std::move(fanouts));
}
