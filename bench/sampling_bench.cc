// SPDX-License-Identifier: Apache-2.0
// One hop of uniform sampling, and whole mini-batches with relabelling: nanoseconds per edge, and
// how near they come to one random memory access per edge.
#include <benchmark/benchmark.h>

#include "base/rng.h"
#include "bench/bench_graph.h"
#include "bench/limits.h"
#include "graphd/samplers.h"
#include "sampling/relabel.h"
#include "sampling/uniform.h"

namespace graphd::bench {
namespace {

constexpr int64_t kDegree = 50;

const Partition& Graph(int64_t nodes) {
  static std::map<int64_t, std::shared_ptr<const Partition>> known;
  auto& partition = known[nodes];
  if (!partition) partition = RandomPartition(nodes, kDegree);
  return *partition;
}

std::vector<int64_t> RandomSeeds(int64_t count, int64_t nodes, uint64_t seed) {
  CounterRng random(seed);
  std::vector<int64_t> seeds(static_cast<size_t>(count));
  for (auto& s : seeds) s = static_cast<int64_t>(random.Below(static_cast<uint64_t>(nodes)));
  return seeds;
}

void ReportEdges(benchmark::State& state, int64_t edges, size_t table_bytes) {
  state.counters["edges/s"] =
      benchmark::Counter(static_cast<double>(edges), benchmark::Counter::kIsRate);
  // What one random read per edge would allow: limit / measured, inverted by the rate.
  state.counters["of_limit"] = benchmark::Counter(
      static_cast<double>(edges) * RandomReadNs(table_bytes) / 1e9, benchmark::Counter::kIsRate);
}

// args: nodes, fanout
void BM_UniformHop(benchmark::State& state) {
  const Partition& partition = Graph(state.range(0));
  const auto seeds = RandomSeeds(100000, state.range(0), 5);
  UniformSampler sampler;
  std::vector<uint32_t> out(seeds.size() * static_cast<size_t>(state.range(1)));
  int64_t edges = 0;
  uint64_t key = 0;
  RandomReadNs(partition.csc(0).indices.size() * 4);
  for (auto _ : state) {
    edges += static_cast<int64_t>(sampler.Plan(
        partition.csc(0), seeds, seeds, {static_cast<int>(state.range(1)), false, key++}, {}));
    sampler.Pick(out.data(), nullptr);
    benchmark::DoNotOptimize(out.data());
  }
  ReportEdges(state, edges, partition.csc(0).indices.size() * 4);
}
BENCHMARK(BM_UniformHop)
    ->ArgNames({"nodes", "fanout"})
    ->Args({20000, 10})
    ->Args({8000000, 10})
    ->Args({8000000, 25})
    ->Unit(benchmark::kMillisecond);

// The batch of DGL's GraphSAGE example: 1000 seeds, fanouts 10 and 25, with to_block.
void BM_MiniBatch(benchmark::State& state) {
  const int64_t nodes = state.range(0);
  std::shared_ptr<const Partition> partition(&Graph(nodes), [](auto*) {});
  const DistGraph graph = LocalGraph(partition);
  const NeighborSampler sampler({10, 25});
  int64_t edges = 0;
  uint64_t seed = 0;
  RandomReadNs(partition->csc(0).indices.size() * 4);
  for (auto _ : state) {
    const MiniBatch batch = sampler.Sample(graph, {RandomSeeds(1000, nodes, ++seed)}, seed);
    for (const Block& block : batch.blocks) edges += block.num_edges();
  }
  ReportEdges(state, edges, partition->csc(0).indices.size() * 4);
}
BENCHMARK(BM_MiniBatch)
    ->ArgName("nodes")
    ->Arg(20000)
    ->Arg(2400000)
    ->Arg(8000000)
    ->Unit(benchmark::kMillisecond);

// args: ids of the type, dense table or hashed
void BM_Relabel(benchmark::State& state) {
  const int64_t nodes = state.range(0);
  RelabelTable table(nodes, state.range(1) ? size_t{1} << 40 : 0);
  const auto ids = RandomSeeds(1000000, nodes, 9);
  std::vector<int32_t> local(ids.size());
  std::vector<int64_t> unique;
  RandomReadNs(static_cast<size_t>(nodes) * 8);
  for (auto _ : state) {
    unique.clear();
    table.Start(ids.size());
    table.Add(ids, unique, local.data());
    benchmark::DoNotOptimize(local.data());
  }
  const double done = static_cast<double>(state.iterations()) * static_cast<double>(ids.size());
  state.counters["ids/s"] = benchmark::Counter(done, benchmark::Counter::kIsRate);
  state.counters["of_limit"] = benchmark::Counter(
      done * RandomReadNs(static_cast<size_t>(nodes) * 8) / 1e9, benchmark::Counter::kIsRate);
}
BENCHMARK(BM_Relabel)
    ->ArgNames({"nodes", "dense"})
    ->Args({8000000, 1})
    ->Args({8000000, 0})
    ->Unit(benchmark::kMillisecond);

}  // namespace
}  // namespace graphd::bench

BENCHMARK_MAIN();
