// SPDX-License-Identifier: Apache-2.0
#include <cstdio>
#include <numeric>

#include "graphd/dist_graph.h"
#include "graphd/samplers.h"

// A trainer for tests that launch jobs: reads the complete ring that tests/integration/launch
// partitions, whichever hosts its partitions are on, and checks it. Exits with 1 on a wrong answer.

namespace {

int CheckRing(const graphd::DistGraph& graph) {
  const int64_t count = graph.num_nodes();
  std::vector<int64_t> nodes(static_cast<size_t>(count));
  std::iota(nodes.begin(), nodes.end(), 0);
  const graphd::Tensor original = graph.ndata("orig_id").Read(nodes);
  const auto id = original.as<int64_t>();
  const graphd::Neighbors sampled = graphd::SampleNeighbors(graph, nodes, {});
  for (size_t i = 0; i < nodes.size(); i++) {
    const int64_t before = (id[i] + count - 1) % count;
    const bool one = sampled.indptr[i + 1] - sampled.indptr[i] == 1;
    const auto edge = static_cast<size_t>(sampled.indptr[i]);
    if (!one || id[static_cast<size_t>(sampled.neighbors[edge])] != before) {
      std::printf("node %lld has a wrong neighbour\n", static_cast<long long>(id[i]));
      return 1;
    }
  }
  return 0;
}

}  // namespace

int main() {
  try {
    auto session = graphd::Initialize();
    graphd::DistGraph graph(session, "ring");
    const int status = CheckRing(graph);
    graph.Barrier();
    int mapped = 0;
    for (int part = 0; part < graph.partition_book().num_partitions(); part++) {
      mapped += graph.is_mapped(part) ? 1 : 0;
    }
    std::printf("rank %d of %d checked %lld nodes, %d of %d partitions mapped\n", session->rank(),
                session->world_size(), static_cast<long long>(graph.num_nodes()), mapped,
                static_cast<int>(graph.partition_book().num_partitions()));
    return status;
  } catch (const std::exception& error) {
    std::fprintf(stderr, "ring_trainer: %s\n", error.what());
    return 1;
  }
}
