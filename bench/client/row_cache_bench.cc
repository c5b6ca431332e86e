// SPDX-License-Identifier: Apache-2.0
// Measures the row cache of a trainer that reads everything over TCP. Counts the bytes of an epoch
// on a graph whose degrees follow a power law, with features of float32 that are stored as they are
// or as float16. Times reads of rows without a cache, and with one that has all of the rows or
// none. Loopback is faster than any network, so that hits gain more in practice. The limits are a
// plain gather and a plain socket.
#include <benchmark/benchmark.h>

#include <algorithm>
#include <numeric>

#include "bench/support/bench_graph.h"
#include "bench/support/limits.h"
#include "graphd/data_loader.h"
#include "graphd/dist_graph.h"
#include "graphd/samplers.h"

namespace graphd::bench {
namespace {

constexpr int64_t kNodes = 1000000, kDegree = 15, kColumns = 100;
constexpr size_t kRowBytes = kColumns * sizeof(float);
constexpr uint64_t kTableBytes = kNodes * kRowBytes;
constexpr int64_t kSeeds = 50000;

// The features are stored in `stored` bytes per number: as float32 or float16.
const ServedGraph& Served(int64_t stored) {
  if (stored == sizeof(float)) {
    static const ServedGraph plain(kNodes, kDegree, kColumns, {}, Ends::kPowerLaw);
    return plain;
  }
  static const ServedGraph narrow(kNodes, kDegree, kColumns, {}, Ends::kPowerLaw, {"feat=float16"});
  return narrow;
}

DistGraph Graph(uint64_t row_cache, int64_t stored = sizeof(float)) {
  Options options = Served(stored).ClientOptions(Transport::kTcp);
  options.row_cache = row_cache;
  return DistGraph(Initialize(options));
}

DistNodeDataLoader Loader(const DistGraph& graph, std::vector<NodeFeature> features, int workers) {
  LoaderOptions options;
  options.batch_size = 1000;
  options.num_workers = workers;
  options.shuffle = true;
  options.input_features = std::move(features);
  return DistNodeDataLoader(graph, RandomIds(kSeeds, kNodes, 1), NeighborSampler({10, 10}),
                            options);
}

// Returns the nodes that most batches of an epoch have, the most frequent first.
std::vector<int64_t> NodesByAccess(const DistGraph& graph) {
  std::vector<uint32_t> counts(kNodes);
  DistNodeDataLoader loader = Loader(graph, {}, 0);
  for (loader.StartEpoch(0); auto batch = loader.Next();) {
    for (const int64_t node : batch->blocks[0].src_nodes[0]) counts[static_cast<size_t>(node)]++;
  }
  std::vector<int64_t> nodes(kNodes);
  std::iota(nodes.begin(), nodes.end(), 0);
  std::stable_sort(nodes.begin(), nodes.end(), [&](int64_t a, int64_t b) {
    return counts[static_cast<size_t>(a)] > counts[static_cast<size_t>(b)];
  });
  return nodes;
}

// args: the cache's size, in percent of the bytes of the feature as trainers read it; the
// percentage of the cache that is kept for the rows that an epoch reads most often; the bytes of a
// stored number
void BM_Epoch(benchmark::State& state) {
  const DistGraph graph =
      Graph(kTableBytes / 100 * static_cast<uint64_t>(state.range(0)), state.range(2));
  if (state.range(1) > 0) {
    std::vector<int64_t> nodes = NodesByAccess(graph);
    nodes.resize(static_cast<size_t>(kNodes * state.range(0) / 100 * state.range(1) / 100));
    graph.ndata("feat").KeepCached(nodes);
  }
  DistNodeDataLoader loader = Loader(graph, {{"feat"}}, 0);
  int64_t epoch = 0;
  const auto run = [&] {
    for (loader.StartEpoch(epoch++); auto batch = loader.Next();) {
      benchmark::DoNotOptimize(batch->input_features[0].data());
    }
  };
  run();  // the epochs before
  run();
  const TrafficCounts before = graph.traffic();
  const RowCacheStatistics old = graph.row_cache_statistics();
  for (auto _ : state) run();
  const TrafficCounts after = graph.traffic();
  const RowCacheStatistics now = graph.row_cache_statistics();
  const auto epochs = static_cast<double>(state.iterations());
  const auto hits = static_cast<double>(now.hits - old.hits);
  const auto rows = hits + static_cast<double>(now.misses - old.misses);
  const auto row_bytes = static_cast<double>(after.row_bytes - before.row_bytes);
  const auto all_bytes =
      row_bytes + static_cast<double>(after.sampling_bytes - before.sampling_bytes);
  state.counters["row_MB/epoch"] = row_bytes / epochs / 1e6;
  state.counters["MB/epoch"] = all_bytes / epochs / 1e6;
  state.counters["hits"] = rows > 0 ? hits / rows : 0;
  state.counters["of_limit"] = benchmark::Counter(all_bytes / SocketPipelineBytesPerSecond(true),
                                                  benchmark::Counter::kIsRate);
}
BENCHMARK(BM_Epoch)
    ->ArgNames({"percent", "kept", "stored"})
    ->Args({0, 0, 4})
    ->ArgsProduct({{1, 5, 10, 25, 50}, {0, 70}, {4}})
    ->Args({120, 0, 4})
    ->ArgsProduct({{0, 10, 25}, {0}, {2}})
    ->UseRealTime()
    ->Unit(benchmark::kMillisecond);

// Measures the first epoch, with a cache for all rows or without one, while threads may need the
// same rows at the same time. args: threads, 1 with a cache
void BM_FirstEpoch(benchmark::State& state) {
  double row_bytes = 0, different = 0;
  for (auto _ : state) {
    const DistGraph graph = Graph(state.range(1) == 0 ? 0 : kTableBytes / 5 * 6);
    DistNodeDataLoader loader = Loader(graph, {{"feat"}}, static_cast<int>(state.range(0)));
    for (loader.StartEpoch(0); auto batch = loader.Next();) {
      benchmark::DoNotOptimize(batch->input_features[0].data());
    }
    row_bytes += static_cast<double>(graph.traffic().row_bytes);
    different += static_cast<double>(graph.row_cache_statistics().inserted * kRowBytes);
  }
  state.counters["row_MB/epoch"] = row_bytes / static_cast<double>(state.iterations()) / 1e6;
  if (different > 0) state.counters["of_different"] = row_bytes / different;
}
BENCHMARK(BM_FirstEpoch)
    ->ArgNames({"workers", "cache"})
    ->ArgsProduct({{0, 2, 4, 8}, {0, 1}})
    ->UseRealTime()
    ->Unit(benchmark::kMillisecond);

// Counts the share of a batch's rows that are also in one of the `batches` batches before it.
// Without a cache, `batches` + 1 threads that make batches at the same time could share the
// requests for at most this share of rows. arg: batches before
void BM_RowsOfBatchesBefore(benchmark::State& state) {
  const DistGraph graph = Graph(0);
  double rows = 0, again = 0;
  for (auto _ : state) {
    std::vector<int64_t> latest(kNodes, INT64_MIN / 2);
    DistNodeDataLoader loader = Loader(graph, {}, 0);
    int64_t number = 0;
    for (loader.StartEpoch(0); auto batch = loader.Next(); number++) {
      for (const int64_t node : batch->blocks[0].src_nodes[0]) {
        int64_t& before = latest[static_cast<size_t>(node)];
        if (number - before <= state.range(0)) again++;
        before = number;
        rows++;
      }
    }
  }
  state.counters["share"] = again / rows;
}
BENCHMARK(BM_RowsOfBatchesBefore)
    ->ArgName("batches")
    ->Arg(1)
    ->Arg(3)
    ->Arg(7)
    ->UseRealTime()
    ->Unit(benchmark::kMillisecond);

enum Rows : int64_t { kNoCache, kHits, kMisses };

// args: what is read, rows
void BM_CachedGather(benchmark::State& state) {
  const auto what = static_cast<Rows>(state.range(0));
  const auto count = static_cast<size_t>(state.range(1));
  // The misses evict one another in a small memory.
  const DistGraph graph = Graph(what == kNoCache ? 0
                                : what == kHits  ? kTableBytes / 5 * 6
                                                 : uint64_t{8} << 20);
  const DistTensor feat = graph.ndata("feat");
  std::vector<std::vector<int64_t>> ids;
  for (uint64_t i = 0; i < 64; i++) ids.push_back(RandomIds(count, kNodes, i));
  const size_t lists = what == kHits ? 8 : ids.size();
  for (size_t i = 0; what == kHits && i < 3 * lists; i++) feat.Read(ids[i % lists]);
  const RowCacheStatistics old = graph.row_cache_statistics();
  double row_seconds = RandomRowNs(kTableBytes, kRowBytes) / 1e9;
  if (what != kHits) {
    row_seconds = std::max(row_seconds, kRowBytes / SocketPipelineBytesPerSecond(true));
  }
  size_t round = 0;
  for (auto _ : state) benchmark::DoNotOptimize(feat.Read(ids[round++ % lists]).data());
  const RowCacheStatistics now = graph.row_cache_statistics();
  const double rows = static_cast<double>(state.iterations()) * static_cast<double>(count);
  state.counters["rows/s"] = benchmark::Counter(rows, benchmark::Counter::kIsRate);
  state.counters["hits"] = static_cast<double>(now.hits - old.hits) / rows;
  state.counters["of_limit"] = benchmark::Counter(rows * row_seconds, benchmark::Counter::kIsRate);
  state.SetLabel(what == kNoCache ? "no cache" : what == kHits ? "hits" : "misses");
}
BENCHMARK(BM_CachedGather)
    ->ArgNames({"what", "rows"})
    ->ArgsProduct({{kNoCache, kHits, kMisses}, {1000, 20000, 100000}})
    ->UseRealTime()
    ->Unit(benchmark::kMillisecond);

}  // namespace
}  // namespace graphd::bench

BENCHMARK_MAIN();
