// SPDX-License-Identifier: Apache-2.0
// Measures walks and negative edges on one core, in standalone mode: steps or pairs per second, and
// the ratio to one random memory access for each.
#include <benchmark/benchmark.h>

#include <algorithm>

#include "bench/support/bench_graph.h"
#include "bench/support/report.h"
#include "graphd/negative.h"
#include "graphd/walks.h"

namespace graphd::bench {
namespace {

constexpr int kLength = 12;

// Returns `steps` edge types, each of which leads from a node type to the next one; the last one
// leads back to type 0. `steps` is a multiple of the number of types.
std::vector<EdgeTypeId> Metapath(const Shape& shape, int steps, Direction direction) {
  std::vector<EdgeTypeId> etypes;
  const int pairs = shape.ntypes * shape.ntypes;
  for (int i = 0; i < steps; i++) {
    const int src = i % shape.ntypes, dst = (i + 1) % shape.ntypes;
    const int relation = i / shape.ntypes % (shape.etypes / pairs);
    etypes.push_back(relation * pairs + dst * shape.ntypes + src);
  }
  if (direction == Direction::kIn) std::reverse(etypes.begin(), etypes.end());
  return etypes;
}

// Times f(graph, seeds, random seed), which returns its number of steps or pairs. The first call is
// not timed, because it builds the indexes.
template <class F>
void Run(benchmark::State& state, const Shape& shape, const char* things, size_t count,
         const F& f) {
  const DistGraph& graph = LocalGraph(shape);
  const std::vector<int64_t> seeds = RandomIds(count, shape.nodes, 5);
  uint64_t seed = 0;
  f(graph, seeds, seed);
  double done = 0;
  for (auto _ : state) done += static_cast<double>(f(graph, seeds, ++seed));
  Report(state, things, done, shape.table_bytes());
}

size_t Steps(const Walks& walks) {
  size_t steps = 0;
  for (int64_t node : walks.nodes) steps += node >= 0;
  return steps - walks.count;
}

template <Direction direction>
void BM_RandomWalk(benchmark::State& state, const Shape& shape) {
  const auto metapath = Metapath(shape, kLength, direction);
  Run(state, shape, "steps/s", 20000,
      [&](const DistGraph& graph, const auto& seeds, uint64_t seed) {
        return Steps(RandomWalk(graph, seeds, metapath, {.direction = direction, .seed = seed}));
      });
}

void BM_Node2vecWalk(benchmark::State& state, const Shape& shape) {
  Run(state, shape, "steps/s", 20000, [](const DistGraph& graph, const auto& seeds, uint64_t seed) {
    return Steps(Node2vecWalk(graph, seeds, 0.5, 2, kLength, {.seed = seed}));
  });
}

void BM_PinSageNeighbors(benchmark::State& state, const Shape& shape) {
  PinSageOptions options{.num_traversals = 3, .num_random_walks = 100, .num_neighbors = 10};
  options.metapath = Metapath(shape, shape.ntypes, options.direction);
  Run(state, shape, "steps/s", 300, [&](const DistGraph& graph, const auto& seeds, uint64_t seed) {
    options.seed = seed;
    benchmark::DoNotOptimize(PinSageNeighbors(graph, seeds, options));
    return seeds.size() * 300 * options.metapath.size();
  });
}

void BM_GlobalUniformNegatives(benchmark::State& state, const Shape& shape) {
  Run(state, shape, "pairs/s", 0, [](const DistGraph& graph, const auto&, uint64_t seed) {
    return GlobalUniformNegatives(graph, 20000, {.seed = seed}).src.size();
  });
}

void Walk(const std::string& name, void (*run)(benchmark::State&, const Shape&), bool typed) {
  const auto add = [&](const char* where, const Shape& shape) {
    benchmark::RegisterBenchmark((name + "/" + where).c_str(), [=](benchmark::State& state) {
      run(state, shape);
    })->Unit(benchmark::kMillisecond);
  };
  add("small", kSmall);
  add("large", kLarge);
  if (!typed) return;
  add("typed_small", kTypedSmall);
  add("typed_large", kTypedLarge);
}

const int registered = [] {
  Walk("BM_RandomWalk/out", BM_RandomWalk<Direction::kOut>, true);
  Walk("BM_RandomWalk/in", BM_RandomWalk<Direction::kIn>, true);
  Walk("BM_PinSageNeighbors", BM_PinSageNeighbors, true);
  // These use a single edge type.
  Walk("BM_Node2vecWalk", BM_Node2vecWalk, false);
  Walk("BM_GlobalUniformNegatives", BM_GlobalUniformNegatives, false);
  return 0;
}();

}  // namespace
}  // namespace graphd::bench
