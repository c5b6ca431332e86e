// SPDX-License-Identifier: Apache-2.0
// Measures reads of feature rows through mapped memory, over the Unix socket and over TCP, from a
// real graphd, and the time to attach. Each is compared with a limit of the machine: a plain gather
// or a plain socket.
#include <benchmark/benchmark.h>

#include "bench/support/bench_graph.h"
#include "bench/support/limits.h"
#include "graphd/dist_graph.h"
#include "graphd/samplers.h"

namespace graphd::bench {
namespace {

constexpr int64_t kNodes = 1500000, kDegree = 10, kColumns = 100;
constexpr size_t kRowBytes = kColumns * sizeof(float);
constexpr size_t kTableBytes = kNodes * kRowBytes;

ServedGraph& Served() {
  static ServedGraph served(kNodes, kDegree, kColumns);
  return served;
}

// args: transport, rows
void BM_Gather(benchmark::State& state) {
  const auto transport = static_cast<Transport>(state.range(0));
  const DistGraph graph(Initialize(Served().ClientOptions(transport)));
  const DistTensor feat = graph.ndata("feat");
  const auto count = static_cast<size_t>(state.range(1));
  std::vector<std::vector<int64_t>> ids;
  for (uint64_t i = 0; i < 8; i++) ids.push_back(RandomIds(count, kNodes, i));
  // The minimum seconds per row: a local gather or, over a socket, the plain pipeline if that is
  // slower.
  double row_seconds = RandomRowNs(kTableBytes, kRowBytes) / 1e9;
  if (transport != Transport::kAuto) {
    row_seconds = std::max(row_seconds,
                           kRowBytes / SocketPipelineBytesPerSecond(transport == Transport::kTcp));
  }
  size_t round = 0;
  for (auto _ : state) benchmark::DoNotOptimize(feat.Read(ids[round++ % ids.size()]).data());
  const double rows = static_cast<double>(state.iterations()) * static_cast<double>(count);
  state.counters["rows/s"] = benchmark::Counter(rows, benchmark::Counter::kIsRate);
  state.counters["bytes/s"] = benchmark::Counter(rows * kRowBytes, benchmark::Counter::kIsRate,
                                                 benchmark::Counter::OneK::kIs1000);
  state.counters["of_limit"] = benchmark::Counter(rows * row_seconds, benchmark::Counter::kIsRate);
  state.SetLabel(transport == Transport::kAuto   ? "mapped"
                 : transport == Transport::kUnix ? "unix"
                                                 : "tcp");
}
BENCHMARK(BM_Gather)
    ->ArgNames({"transport", "rows"})
    ->ArgsProduct({{0, 1, 2}, {1000, 20000, 100000}})
    ->UseRealTime()
    ->Unit(benchmark::kMillisecond);

// Measures one hop over RPC, 1000 seeds with fanout 10, against a plain round trip and one random
// read per edge.
void BM_RemoteSample(benchmark::State& state) {
  const auto transport = static_cast<Transport>(state.range(0));
  const DistGraph graph(Initialize(Served().ClientOptions(transport)));
  const auto seeds = RandomIds(static_cast<size_t>(state.range(1)), kNodes, 4);
  const double limit_seconds =
      SocketRoundTripUs(transport == Transport::kTcp) / 1e6 +
      static_cast<double>(seeds.size()) * 10 * RandomReadNs(kNodes * kDegree * 4) / 1e9;
  uint64_t seed = 0;
  int64_t edges = 0;
  for (auto _ : state) {
    edges += static_cast<int64_t>(
        SampleNeighbors(graph, seeds, {10, false, seed++, 0, false}).neighbors.size());
  }
  state.counters["edges/s"] =
      benchmark::Counter(static_cast<double>(edges), benchmark::Counter::kIsRate);
  state.counters["of_limit"] = benchmark::Counter(
      static_cast<double>(state.iterations()) * limit_seconds, benchmark::Counter::kIsRate);
}
BENCHMARK(BM_RemoteSample)
    ->ArgNames({"transport", "seeds"})
    ->ArgsProduct({{1, 2}, {1000, 10000}})
    ->UseRealTime()
    ->Unit(benchmark::kMicrosecond);

// Measures mini-batches [10, 25] of 1000 seeds with their features over RPC, as loaders make them:
// messages and bytes per batch, and bytes per sampled edge without the features. The limit is
// sending the bytes through a plain socket.
void BM_RemoteMiniBatch(benchmark::State& state) {
  const auto transport = static_cast<Transport>(state.range(0));
  const DistGraph graph(Initialize(Served().ClientOptions(transport)));
  const NeighborSampler sampler({10, 25});
  const double bytes_per_second = SocketPipelineBytesPerSecond(transport == Transport::kTcp);
  const TrafficCounts before = graph.traffic();
  uint64_t seed = 0;
  double edges = 0;
  for (auto _ : state) {
    BatchRequest request{{RandomIds(1000, kNodes, ++seed)}, seed};
    request.input_features = {{0, "feat"}};
    const MiniBatch batch = sampler.Sample(graph, std::move(request));
    for (const Block& block : batch.blocks) edges += static_cast<double>(block.num_edges());
  }
  const TrafficCounts after = graph.traffic();
  const auto batches = static_cast<double>(state.iterations());
  const auto sampling = static_cast<double>(after.sampling_bytes - before.sampling_bytes);
  const auto rows = static_cast<double>(after.row_bytes - before.row_bytes);
  state.counters["edges/s"] = benchmark::Counter(edges, benchmark::Counter::kIsRate);
  state.counters["bytes/edge"] = sampling / edges;
  state.counters["messages"] = static_cast<double>(after.messages - before.messages) / batches;
  state.counters["row_messages"] =
      static_cast<double>(after.row_messages - before.row_messages) / batches;
  state.counters["MB/batch"] = (sampling + rows) / batches / 1e6;
  state.counters["of_limit"] =
      benchmark::Counter((sampling + rows) / bytes_per_second, benchmark::Counter::kIsRate);
}
BENCHMARK(BM_RemoteMiniBatch)
    ->ArgName("transport")
    ->Arg(1)
    ->Arg(2)
    ->UseRealTime()
    ->Unit(benchmark::kMillisecond);

// Measures the time from Initialize() to the first batch of 1000 seeds with its features. The limit
// is two plain round trips and the batch itself.
void BM_AttachToFirstBatch(benchmark::State& state) {
  const auto transport = static_cast<Transport>(state.range(0));
  Served();
  const auto seeds = RandomIds(1000, kNodes, 4);
  const NeighborSampler sampler({10, 25});
  double batch_seconds = 1e9;
  {
    const DistGraph graph(Initialize(Served().ClientOptions(transport)));
    for (int i = 0; i < 5; i++) {
      const auto start = std::chrono::steady_clock::now();
      const MiniBatch batch = sampler.Sample(graph, {seeds}, 1);
      benchmark::DoNotOptimize(graph.ndata("feat").Read(batch.input_nodes()).data());
      batch_seconds =
          std::min(batch_seconds,
                   std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count());
    }
  }
  for (auto _ : state) {
    const DistGraph graph(Initialize(Served().ClientOptions(transport)));
    const MiniBatch batch = sampler.Sample(graph, {seeds}, 1);
    benchmark::DoNotOptimize(graph.ndata("feat").Read(batch.input_nodes()).data());
  }
  state.counters["of_limit"] = benchmark::Counter(
      static_cast<double>(state.iterations()) *
          (batch_seconds + 2 * SocketRoundTripUs(transport == Transport::kTcp) / 1e6),
      benchmark::Counter::kIsRate);
}
BENCHMARK(BM_AttachToFirstBatch)
    ->ArgName("transport")
    ->Arg(0)
    ->Arg(2)
    ->UseRealTime()
    ->Unit(benchmark::kMillisecond);

}  // namespace
}  // namespace graphd::bench

BENCHMARK_MAIN();
