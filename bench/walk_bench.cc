// SPDX-License-Identifier: Apache-2.0
// Walks and negative edges on one core, in standalone mode: steps (pairs) per second, and how near
// they come to one random memory access each.
#include <benchmark/benchmark.h>

#include <map>

#include "base/rng.h"
#include "bench/bench_graph.h"
#include "bench/limits.h"
#include "graphd/negative.h"
#include "graphd/walks.h"

namespace graphd::bench {
namespace {

constexpr int64_t kDegree = 25;
constexpr int64_t kLength = 10;

const DistGraph& Graph(int64_t nodes) {
  static std::map<int64_t, DistGraph> known;
  auto found = known.find(nodes);
  if (found == known.end()) {
    found = known.emplace(nodes, LocalGraph(RandomPartition(nodes, kDegree))).first;
  }
  return found->second;
}

std::vector<int64_t> RandomSeeds(int64_t count, int64_t nodes) {
  CounterRng random(5);
  std::vector<int64_t> seeds(static_cast<size_t>(count));
  for (auto& s : seeds) s = static_cast<int64_t>(random.Below(static_cast<uint64_t>(nodes)));
  return seeds;
}

// Runs f(graph, seeds, random seed), which tells how many things it did; once before it is timed,
// because the first call makes the indexes.
template <class F>
void Run(benchmark::State& state, const char* things, int64_t count, const F& f) {
  const int64_t nodes = state.range(0);
  const DistGraph& graph = Graph(nodes);
  const std::vector<int64_t> seeds = RandomSeeds(count, nodes);
  const double limit = RandomReadNs(static_cast<size_t>(nodes * kDegree) * 4) / 1e9;
  uint64_t seed = 0;
  f(graph, seeds, seed);
  double done = 0;
  for (auto _ : state) done += static_cast<double>(f(graph, seeds, ++seed));
  state.counters[things] = benchmark::Counter(done, benchmark::Counter::kIsRate);
  state.counters["of_limit"] = benchmark::Counter(done * limit, benchmark::Counter::kIsRate);
}

size_t Steps(const Walks& walks) {
  size_t steps = 0;
  for (int64_t node : walks.nodes) steps += node >= 0;
  return steps - walks.count;
}

template <Direction direction>
void BM_RandomWalk(benchmark::State& state) {
  Run(state, "steps/s", 20000, [](const DistGraph& graph, const auto& seeds, uint64_t seed) {
    return Steps(RandomWalk(graph, seeds, kLength, {.direction = direction, .seed = seed}));
  });
}

void BM_Node2vecWalk(benchmark::State& state) {
  Run(state, "steps/s", 20000, [](const DistGraph& graph, const auto& seeds, uint64_t seed) {
    return Steps(Node2vecWalk(graph, seeds, 0.5, 2, kLength, {.seed = seed}));
  });
}

void BM_PinSageNeighbors(benchmark::State& state) {
  const PinSageOptions options{.num_traversals = 3, .num_random_walks = 100, .num_neighbors = 10};
  Run(state, "steps/s", 300, [&](const DistGraph& graph, const auto& seeds, uint64_t seed) {
    PinSageOptions now = options;
    now.seed = seed;
    benchmark::DoNotOptimize(PinSageNeighbors(graph, seeds, now));
    return seeds.size() * 300;
  });
}

void BM_GlobalUniformNegatives(benchmark::State& state) {
  Run(state, "pairs/s", 0, [](const DistGraph& graph, const auto&, uint64_t seed) {
    return GlobalUniformNegatives(graph, 20000, {.seed = seed}).src.size();
  });
}

void Sizes(benchmark::internal::Benchmark* benchmark) {
  benchmark->ArgName("nodes")->Arg(20000)->Arg(2000000)->Unit(benchmark::kMillisecond);
}
BENCHMARK(BM_RandomWalk<Direction::kOut>)->Apply(Sizes);
BENCHMARK(BM_RandomWalk<Direction::kIn>)->Apply(Sizes);
BENCHMARK(BM_Node2vecWalk)->Apply(Sizes);
BENCHMARK(BM_PinSageNeighbors)->Apply(Sizes);
BENCHMARK(BM_GlobalUniformNegatives)->Apply(Sizes);

}  // namespace
}  // namespace graphd::bench
