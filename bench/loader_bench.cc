// SPDX-License-Identifier: Apache-2.0
// One side of bench/python_bench.py: loads mini-batches of the graph that the environment names
// (GRAPHD_SERVER_NAME and so on), with edge ids, as Python's have them, and prints the seconds that
// each epoch took.
#include <cstdio>
#include <cstdlib>
#include <numeric>

#include "base/clock.h"
#include "graphd/data_loader.h"
#include "graphd/initialize.h"

namespace graphd::bench {
namespace {

int Run(int epochs, int workers, int64_t batch_size, int64_t num_seeds, std::vector<int> fanouts) {
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
  for (int epoch = 0; epoch < epochs; epoch++) {
    const Clock::time_point begin = Clock::now();
    int64_t rows = 0;
    loader.StartEpoch(epoch);
    while (auto batch = loader.Next()) rows += batch->input_features[0].num_rows();
    std::printf("%.9f %lld\n", SecondsSince(begin), static_cast<long long>(rows));
  }
  return 0;
}

}  // namespace
}  // namespace graphd::bench

int main(int argc, char** argv) {
  if (argc < 6) {
    std::fprintf(stderr, "usage: loader_bench EPOCHS WORKERS BATCH_SIZE SEEDS FANOUT...\n");
    return 2;
  }
  std::vector<int> fanouts;
  for (int i = 5; i < argc; i++) fanouts.push_back(std::atoi(argv[i]));
  return graphd::bench::Run(std::atoi(argv[1]), std::atoi(argv[2]), std::atoll(argv[3]),
                            std::atoll(argv[4]), std::move(fanouts));
}
