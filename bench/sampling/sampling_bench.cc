// SPDX-License-Identifier: Apache-2.0
// Measures the two kernels that every sampler uses: one hop of uniform sampling, and relabelling.
// Compares each with one random memory access per edge or id, whose rate is measured, too.
#include <benchmark/benchmark.h>

#include "bench/support/bench_graph.h"
#include "bench/support/limits.h"
#include "bench/support/report.h"
#include "sampling/relabel.h"
#include "sampling/uniform_sampler.h"

namespace graphd::bench {
namespace {

// Reads random lines of an array as large as the sources of ogbn-products' edges. bench/compare
// derives the limits of samplers from it.
void BM_RandomLines(benchmark::State& state) {
  double nanoseconds = 0;
  for (auto _ : state) nanoseconds = RandomReadNs(static_cast<size_t>(state.range(0)));
  state.counters["lines/s"] = 1e9 / nanoseconds;
}
BENCHMARK(BM_RandomLines)
    ->ArgName("bytes")
    ->Arg(int64_t{4} * 123718280)
    ->Iterations(1)
    ->Unit(benchmark::kMillisecond);

// args: nodes, fanout
void BM_UniformHop(benchmark::State& state) {
  const Shape shape{.nodes = state.range(0), .degree = 50, .weights = false};
  const Csc& csc = LocalPartition(shape).csc(0);
  const auto seeds = RandomIds(100000, shape.nodes, 5);
  SamplingRule rule;
  rule.fanout = static_cast<int>(state.range(1));
  UniformSampler sampler;
  std::vector<uint32_t> out(seeds.size() * static_cast<size_t>(rule.fanout));
  size_t edges = 0;
  uint64_t key = 0;
  for (auto _ : state) {
    edges += sampler.Plan(csc, seeds, seeds, rule, key++, {});
    sampler.Sample(out.data(), nullptr);
    benchmark::DoNotOptimize(out.data());
  }
  Report(state, "edges/s", static_cast<double>(edges), shape.table_bytes());
}
BENCHMARK(BM_UniformHop)
    ->ArgNames({"nodes", "fanout"})
    ->Args({20000, 10})
    ->Args({8000000, 10})
    ->Args({8000000, 25})
    ->Unit(benchmark::kMillisecond);

// args: ids of the type, dense table or hashed
void BM_Relabel(benchmark::State& state) {
  const int64_t nodes = state.range(0);
  RelabelTable table(nodes, state.range(1) ? size_t{1} << 40 : 0);
  const auto ids = RandomIds(static_cast<size_t>(state.range(2)), nodes, 9);
  std::vector<int32_t> local(ids.size());
  std::vector<int64_t> unique;
  for (auto _ : state) {
    unique.clear();
    table.Start(ids.size());
    table.Add(ids, unique, local.data());
    benchmark::DoNotOptimize(local.data());
  }
  const double done = static_cast<double>(state.iterations()) * static_cast<double>(ids.size());
  Report(state, "ids/s", done, static_cast<size_t>(nodes) * (state.range(1) ? 4 : 8));
}
BENCHMARK(BM_Relabel)
    ->ArgNames({"nodes", "dense", "ids"})
    ->Args({8000000, 1, 1000000})
    ->Args({8000000, 0, 1000000})
    ->Args({2449029, 1, 250000})
    ->Args({2449029, 0, 250000})
    ->Unit(benchmark::kMillisecond);

}  // namespace
}  // namespace graphd::bench

BENCHMARK_MAIN();
