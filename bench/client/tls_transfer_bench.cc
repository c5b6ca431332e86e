// SPDX-License-Identifier: Apache-2.0
// Measures reads of feature rows and sampling over TCP, in plaintext and with TLS, from two real
// graphds with the same graph, in one run. The counter of_plaintext of a benchmark with TLS relates
// its rate to that of the same benchmark in plaintext, which runs before it.
#include <benchmark/benchmark.h>
#include <unistd.h>

#include <filesystem>
#include <map>
#include <string>

#include "bench/support/bench_graph.h"
#include "graphd/dist_graph.h"
#include "graphd/samplers.h"
#include "tls/issue.h"
#include "tls/key_directory.h"

namespace graphd::bench {
namespace {

constexpr int64_t kNodes = 500000, kDegree = 10, kColumns = 100;

// A directory with the keys of the server "bench" and its client.
class Keys {
 public:
  Keys()
      : path_(std::filesystem::temp_directory_path() /
              ("graphd_bench_keys." + std::to_string(::getpid()))) {
    const KeyPair authority = MakeAuthority("bench");
    const KeyPair server = Issue(authority, CertificateKind::kServer, "bench");
    const KeyPair client = Issue(authority, CertificateKind::kClient, "trainer");
    const KeyDirectory keys(path_, "bench");
    keys.Write("ca.pem", authority.certificate.ToPem());
    keys.Write("server.pem", server.certificate.ToPem());
    keys.Write("server.key", server.key.ToPem());
    keys.Write("client.pem", client.certificate.ToPem());
    keys.Write("client.key", client.key.ToPem());
  }
  ~Keys() { std::filesystem::remove_all(path_); }
  Keys(const Keys&) = delete;
  Keys& operator=(const Keys&) = delete;
  const std::string& path() const { return path_; }

 private:
  const std::string path_;
};

const Keys& ServerKeys() {
  static const Keys keys;
  return keys;
}

Options ClientOptions(bool with_tls) {
  static const ServedGraph plain(kNodes, kDegree, kColumns);
  static const ServedGraph encrypted(kNodes, kDegree, kColumns, {"--keys", ServerKeys().path()});
  Options options = (with_tls ? encrypted : plain).ClientOptions(Transport::kTcp);
  if (with_tls) options.keys = ServerKeys().path();
  return options;
}

// Reports the rate of `done` things, and its ratio to that of the same benchmark in plaintext.
void ReportRate(benchmark::State& state, const std::string& name, const char* things, double done,
                double seconds) {
  static std::map<std::string, double> plaintext;
  const double rate = done / seconds;
  state.counters[things] = rate;
  if (state.range(0) == 0) {
    plaintext[name] = rate;
  } else {
    state.counters["of_plaintext"] = rate / plaintext[name];
  }
  state.SetLabel(state.range(0) != 0 ? "TLS" : "plaintext");
}

class Stopwatch {
 public:
  double seconds() const {
    return std::chrono::duration<double>(std::chrono::steady_clock::now() - start_).count();
  }

 private:
  const std::chrono::steady_clock::time_point start_ = std::chrono::steady_clock::now();
};

// args: TLS, rows
void BM_TcpRows(benchmark::State& state) {
  const DistGraph graph(Initialize(ClientOptions(state.range(0) != 0)));
  const DistTensor feat = graph.ndata("feat");
  const auto count = static_cast<size_t>(state.range(1));
  std::vector<std::vector<int64_t>> ids;
  for (uint64_t i = 0; i < 8; i++) ids.push_back(RandomIds(count, kNodes, i));
  feat.Read(ids[0]);
  const Stopwatch watch;
  size_t round = 0;
  for (auto _ : state) benchmark::DoNotOptimize(feat.Read(ids[round++ % ids.size()]).data());
  ReportRate(state, "rows " + std::to_string(count), "rows/s",
             static_cast<double>(state.iterations()) * static_cast<double>(count), watch.seconds());
}
BENCHMARK(BM_TcpRows)
    ->ArgNames({"tls", "rows"})
    ->Args({0, 1000})
    ->Args({1, 1000})
    ->Args({0, 100000})
    ->Args({1, 100000})
    ->UseRealTime()
    ->Unit(benchmark::kMillisecond);

// Mini-batches [10, 25] of 1000 seeds, with or without their features. args: TLS, features
void BM_TcpMiniBatch(benchmark::State& state) {
  const DistGraph graph(Initialize(ClientOptions(state.range(0) != 0)));
  const bool with_features = state.range(1) != 0;
  const NeighborSampler sampler({10, 25});
  const Stopwatch watch;
  uint64_t seed = 0;
  double edges = 0;
  for (auto _ : state) {
    BatchRequest request{{RandomIds(1000, kNodes, ++seed)}, seed};
    if (with_features) request.input_features = {{0, "feat"}};
    const MiniBatch batch = sampler.Sample(graph, std::move(request));
    for (const Block& block : batch.blocks) edges += static_cast<double>(block.num_edges());
  }
  ReportRate(state, "batch " + std::to_string(state.range(1)), "edges/s", edges, watch.seconds());
}
BENCHMARK(BM_TcpMiniBatch)
    ->ArgNames({"tls", "features"})
    ->Args({0, 0})
    ->Args({1, 0})
    ->Args({0, 1})
    ->Args({1, 1})
    ->UseRealTime()
    ->Unit(benchmark::kMillisecond);

}  // namespace
}  // namespace graphd::bench

BENCHMARK_MAIN();
