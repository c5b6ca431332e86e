// SPDX-License-Identifier: Apache-2.0
// Compares the first batches of a new session, whose pages are not mapped yet, with later ones:
// gathers of rows, and mini-batches. The setting in
// /sys/kernel/mm/transparent_hugepage/shmem_enabled at the start of the program determines the size
// of the pages.
#include <benchmark/benchmark.h>

#include <algorithm>
#include <chrono>
#include <functional>
#include <numeric>
#include <vector>

#include "bench/support/bench_graph.h"
#include "bench/support/limits.h"
#include "graphd/dist_graph.h"
#include "graphd/samplers.h"

namespace graphd::bench {
namespace {

constexpr int64_t kNodes = 4000000, kDegree = 10, kColumns = 128;
constexpr size_t kRowBytes = kColumns * sizeof(float), kTableBytes = kNodes * kRowBytes;
constexpr size_t kFirst = 20, kBatches = 120;

ServedGraph& Served() {
  static ServedGraph served(kNodes, kDegree, kColumns);
  return served;
}

using Batch = std::function<void(const DistGraph&, uint64_t number)>;

// Returns the milliseconds of each batch of a new session.
std::vector<double> RunSession(const Batch& batch) {
  const DistGraph graph(Initialize(Served().ClientOptions(Transport::kAuto)));
  std::vector<double> times;
  for (uint64_t i = 0; i < kBatches; i++) {
    const auto start = std::chrono::steady_clock::now();
    batch(graph, i);
    const std::chrono::duration<double, std::milli> took = std::chrono::steady_clock::now() - start;
    times.push_back(took.count());
  }
  return times;
}

// Reports medians of all sessions. `one_ms`: the first batch; `first_ms`: the mean of the first 20;
// `later_ms`: the median of the last 100; `lost_ms`: the time of all batches beyond what they would
// take at `later_ms` each.
void Measure(benchmark::State& state, const Batch& batch) {
  std::vector<std::vector<double>> sessions;
  for (auto _ : state) sessions.push_back(RunSession(batch));
  const auto median = [](std::vector<double> values) {
    const auto middle = values.begin() + static_cast<std::ptrdiff_t>(values.size() / 2);
    std::nth_element(values.begin(), middle, values.end());
    return *middle;
  };
  std::vector<double> times;
  for (size_t i = 0; i < kBatches; i++) {
    std::vector<double> ith;
    for (const std::vector<double>& session : sessions) ith.push_back(session[i]);
    times.push_back(median(std::move(ith)));
  }
  const double later = median({times.begin() + kFirst, times.end()});
  const double first = std::accumulate(times.begin(), times.begin() + kFirst, 0.0) / kFirst;
  state.counters["one_ms"] = times[0];
  state.counters["first_ms"] = first;
  state.counters["later_ms"] = later;
  state.counters["lost_ms"] = std::accumulate(times.begin(), times.end(), -later * kBatches);
  state.counters["speed_of_first"] = later / first;
}

void BM_FirstGathers(benchmark::State& state) {
  const auto rows = static_cast<size_t>(state.range(0));
  Measure(state, [rows](const DistGraph& graph, uint64_t number) {
    const DistTensor feat = graph.ndata("feat");
    benchmark::DoNotOptimize(feat.Read(RandomIds(rows, kNodes, number)).data());
  });
  state.counters["limit_ms"] =
      static_cast<double>(rows) * RandomRowNs(kTableBytes, kRowBytes) / 1e6;
}
BENCHMARK(BM_FirstGathers)
    ->ArgName("rows")
    ->Arg(1000)
    ->Arg(20000)
    ->Iterations(9)
    ->Unit(benchmark::kMillisecond);

void BM_FirstMiniBatches(benchmark::State& state) {
  Measure(state, [](const DistGraph& graph, uint64_t number) {
    const NeighborSampler sampler({10, 25});
    benchmark::DoNotOptimize(sampler.Sample(graph, {RandomIds(1000, kNodes, number)}, number));
  });
}
BENCHMARK(BM_FirstMiniBatches)->Iterations(9)->Unit(benchmark::kMillisecond);

}  // namespace
}  // namespace graphd::bench

BENCHMARK_MAIN();
