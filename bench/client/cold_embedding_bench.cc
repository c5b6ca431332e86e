// SPDX-License-Identifier: Apache-2.0
#include <benchmark/benchmark.h>

#include <algorithm>
#include <chrono>
#include <numeric>
#include <span>
#include <string>
#include <vector>

#include "base/huge_array.h"
#include "base/huge_pages.h"
#include "base/rng.h"
#include "base/strings.h"
#include "bench/store/push_loop.h"
#include "bench/support/bench_graph.h"
#include "graphd/sparse_optim.h"
#include "store/store_options.h"

// Measures the steps of a trainer while a table of embeddings is new, through libgraphclient and a
// real graphd. An epoch takes all rows in random order, 10,000 per step; each step reads them,
// passes their gradients back, and steps. So in the first epoch every row of a step is touched for
// the first time, and in the third one every row was used before.
//
// "cold_of_warm" is the time of the first epoch relative to that of the third. "cold_p99_of_p50"
// compares steps within the first epoch, and "cold_first_ms" is the first step. "pages_s" is the
// time that one thread takes to allocate the memory of rows and states, without anything else. It
// is measured before the epochs, because in a virtual machine, memory that was not used for a while
// may first have to come from the host.

namespace graphd::bench {
namespace {

using Seconds = std::chrono::duration<double>;

std::vector<int64_t> Permutation(int64_t count) {
  std::vector<int64_t> rows(static_cast<size_t>(count));
  std::iota(rows.begin(), rows.end(), 0);
  CounterRng rng(11);
  for (size_t i = rows.size(); i > 1; i--) std::swap(rows[i - 1], rows[rng.Below(i)]);
  return rows;
}

double Percentile(std::vector<double> values, size_t percent) {
  std::sort(values.begin(), values.end());
  return values[values.size() * percent / 100];
}

// Returns the seconds that the bare allocation of this memory takes.
double AllocateMemory(size_t bytes) {
  double seconds = 0;
  for (int i = 0; i < 2; i++) {
    const auto begin = std::chrono::steady_clock::now();
    HugeArray<std::byte> memory(bytes, "memory");
    PopulateHugePages(memory.data(), bytes);
    seconds = Seconds(std::chrono::steady_clock::now() - begin).count();
  }
  return seconds;
}

// Returns the seconds of each step of an epoch.
std::vector<double> RunEpoch(const std::vector<int64_t>& rows, DistEmbedding& embedding,
                             SparseOptimizer& optimizer) {
  Tensor gradients = Tensor::Empty(
      DType::kFloat32, {static_cast<int64_t>(kPushRows), static_cast<int64_t>(kElements)});
  std::ranges::copy(Gradients(), gradients.as<float>().begin());
  std::vector<double> steps;
  for (size_t first = 0; first + kPushRows <= rows.size(); first += kPushRows) {
    const std::span<const int64_t> ids(&rows[first], kPushRows);
    const auto begin = std::chrono::steady_clock::now();
    benchmark::DoNotOptimize(embedding.Forward(ids).data());
    embedding.Backward(ids, Tensor(gradients));
    optimizer.Step();
    steps.push_back(Seconds(std::chrono::steady_clock::now() - begin).count());
  }
  return steps;
}

void BM_ColdEmbedding(benchmark::State& state) {
  const int64_t rows = state.range(0) * 1000;
  const char* durability = store::DurabilityName(static_cast<store::Durability>(state.range(1)));
  const auto order = Permutation(rows);
  const size_t bytes = 2 * static_cast<size_t>(rows) * kElements * sizeof(float);
  for (auto _ : state) {
    state.counters["pages_s"] = AllocateMemory(bytes);
    const ServedGraph graph(1000, 1, 1,
                            {"--durability", durability, "--memory_dir", MemoryDirectory()});
    const DistGraph dist(Initialize(graph.ClientOptions(Transport::kAuto)));
    EmbeddingOptions options;
    options.name = "embedding";
    options.dim = static_cast<int64_t>(kElements);
    options.policy = TensorPolicy::kRange;
    options.num_embeddings = rows;
    DistEmbedding embedding(dist, options);
    SparseAdagrad optimizer({&embedding}, {});
    const std::vector<double> cold = RunEpoch(order, embedding, optimizer);
    RunEpoch(order, embedding, optimizer);
    const std::vector<double> warm = RunEpoch(order, embedding, optimizer);
    const auto sum = [](const std::vector<double>& values) {
      return std::accumulate(values.begin(), values.end(), 0.0);
    };
    state.counters["cold_rows/s"] = static_cast<double>(rows) / sum(cold);
    state.counters["warm_rows/s"] = static_cast<double>(rows) / sum(warm);
    state.counters["cold_of_warm"] = sum(cold) / sum(warm);
    state.counters["cold_first_ms"] = cold.front() * 1e3;
    state.counters["cold_p50_ms"] = Percentile(cold, 50) * 1e3;
    state.counters["cold_p99_ms"] = Percentile(cold, 99) * 1e3;
    state.counters["cold_p99_of_p50"] = Percentile(cold, 99) / Percentile(cold, 50);
    state.counters["warm_p50_ms"] = Percentile(warm, 50) * 1e3;
    state.counters["warm_p99_ms"] = Percentile(warm, 99) * 1e3;
  }
  state.SetLabel(durability);
}
BENCHMARK(BM_ColdEmbedding)
    ->ArgNames({"thousand_rows", "durability"})
    ->ArgsProduct({{1000, 2400, 5000, 10000}, {0, 1, 2}})
    ->Iterations(1)
    ->UseRealTime()
    ->Unit(benchmark::kMillisecond);

}  // namespace
}  // namespace graphd::bench

BENCHMARK_MAIN();
