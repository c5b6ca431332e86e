// SPDX-License-Identifier: Apache-2.0
#include <benchmark/benchmark.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <cstring>
#include <fstream>
#include <memory>
#include <numeric>
#include <string>
#include <thread>
#include <tuple>
#include <vector>

#include "base/strings.h"
#include "bench/store/push_loop.h"
#include "bench/support/bench_graph.h"
#include "graphd/sparse_optim.h"

// Measures a trainer's step with a learnable embedding, through libgraphclient and a real graphd:
// it reads 10,000 random rows of 128 floats out of 2.4 million, passes their gradients back and
// steps.
//
// "of_loop" is the rate relative to a plain loop over memory that does the same on one core,
// measured before and after. "push_rows/s" and "push_of_loop" exclude the read of rows, both from
// the step and from the loop; "of_push_loop" excludes it from the loop only. "written" is the bytes
// that the daemon writes to files per step. "staleness" is the number of steps that may be running.
// "write_back" is the time between rounds of write-back: with 0 the daemon chooses; with 5 s a
// round is always running.

namespace graphd::bench {
namespace {

// The log allocates new pages until it has reached its number of files.
constexpr int kWarmUpSteps = 100;

const char* const kDurabilities[] = {"none", "process", "power"};

// Returns the bytes that a process has written by write(2) and similar calls.
double WrittenBytes(pid_t pid) {
  std::ifstream io(StrCat("/proc/", pid, "/io"));
  for (std::string line; std::getline(io, line);) {
    if (line.starts_with("wchar:")) return std::stod(line.substr(6));
  }
  return 0;
}

void ReadAll(DistEmbedding& embedding) {
  std::vector<int64_t> ids(kPushRows);
  for (int64_t first = 0; first < kTableRows; first += static_cast<int64_t>(kPushRows)) {
    std::iota(ids.begin(), ids.end(), first);
    embedding.weight().Read(ids);
  }
}

// A daemon with a table of which every page is in memory.
struct ServedTable {
  ServedTable(int64_t durability, OptimizerState state, int64_t write_back)
      : graph(1000, 1, 1, Options(durability, write_back)), kind(state) {
    const DistGraph dist(Initialize(graph.ClientOptions(Transport::kUnix)));
    DistEmbedding embedding(dist, Embedding());
    ReadAll(embedding);
    const auto optimizer = Optimizer(embedding, 0);
    const auto pushes = DrawRows(/*zipf=*/false);
    for (int i = 0; i < kWarmUpSteps; i++) {
      embedding.Backward(pushes[static_cast<size_t>(i) % kPushes], GradientTensor());
      optimizer->Step();
    }
    optimizer->Wait();
    // Waits until huge pages have replaced the table's pages in the background.
    std::this_thread::sleep_for(std::chrono::seconds(4));
  }

  static std::vector<std::string> Options(int64_t durability, int64_t write_back) {
    std::vector<std::string> options = {"--durability", kDurabilities[durability], "--memory_dir",
                                        MemoryDirectory()};
    if (write_back != 0) {
      options.insert(options.end(), {"--write_back_seconds", StrCat(write_back)});
    }
    return options;
  }
  static EmbeddingOptions Embedding() {
    EmbeddingOptions options;
    options.name = "embedding";
    options.dim = static_cast<int64_t>(kElements);
    options.policy = TensorPolicy::kRange;
    options.num_embeddings = kTableRows;
    return options;
  }
  std::unique_ptr<SparseOptimizer> Optimizer(DistEmbedding& embedding, int staleness) const {
    StepOptions options;
    options.staleness = staleness;
    if (kind == OptimizerState::kAdam) {
      return std::make_unique<SparseAdam>(std::vector{&embedding}, options);
    }
    return std::make_unique<SparseAdagrad>(std::vector{&embedding}, options);
  }
  static const Tensor& GradientTensor() {
    static const Tensor gradients = [] {
      Tensor all = Tensor::Empty(
          DType::kFloat32, {static_cast<int64_t>(kPushRows), static_cast<int64_t>(kElements)});
      std::ranges::copy(Gradients(), all.as<float>().begin());
      return all;
    }();
    return gradients;
  }

  ServedGraph graph;
  OptimizerState kind;
};

std::unique_ptr<ServedTable> last_table;  // destroyed before main ends

ServedTable& TableFor(int64_t durability, OptimizerState state, int64_t write_back) {
  static std::tuple<int64_t, OptimizerState, int64_t> kind;
  const std::tuple wanted(durability, state, write_back);
  if (last_table == nullptr || kind != wanted) {
    last_table.reset();
    last_table = std::make_unique<ServedTable>(durability, state, write_back);
    kind = wanted;
  }
  return *last_table;
}

void BM_EmbeddingStep(benchmark::State& state) {
  const auto transport = static_cast<Transport>(state.range(0));
  const bool zipf = state.range(1) != 0;
  const auto kind = static_cast<OptimizerState>(state.range(2));
  const ServedTable& served = TableFor(state.range(3), kind, state.range(5));
  const DistGraph graph(Initialize(served.graph.ClientOptions(transport)));
  DistEmbedding embedding(graph, ServedTable::Embedding());
  const auto optimizer = served.Optimizer(embedding, static_cast<int>(state.range(4)));
  const auto pushes = DrawRows(zipf);
  ReadAll(embedding);                 // maps the memory of all rows, as after some epochs
  std::vector<double> cycles, steps;  // in seconds
  const LoopCosts before = MeasureLoops(kind, zipf);
  const double written = WrittenBytes(served.graph.pid());
  size_t i = 0;
  using Seconds = std::chrono::duration<double>;
  for (auto _ : state) {
    const auto begin = std::chrono::steady_clock::now();
    const std::vector<int64_t>& ids = pushes[i++ % kPushes];
    benchmark::DoNotOptimize(embedding.Forward(ids).data());
    const auto pulled = std::chrono::steady_clock::now();
    // Moved, not copied, like autograd's gradients.
    embedding.Backward(ids, Tensor(ServedTable::GradientTensor()));
    optimizer->Step();
    const auto end = std::chrono::steady_clock::now();
    cycles.push_back(Seconds(end - begin).count());
    steps.push_back(Seconds(end - pulled).count());
  }
  optimizer->Wait();
  const LoopCosts after = MeasureLoops(kind, zipf);
  const double cycle_loop = (before.cycle.rows_per_second + after.cycle.rows_per_second) / 2;
  const double push_loop = (before.step.rows_per_second + after.step.rows_per_second) / 2;
  const auto count = static_cast<double>(state.iterations());
  const double rows = count * kPushRows;
  const double push_rate = rows / std::accumulate(steps.begin(), steps.end(), 0.0);
  const auto tell = [&state](const char* name, std::vector<double>& times) {
    std::sort(times.begin(), times.end());
    state.counters[StrCat(name, "p50_ms")] = times[times.size() / 2] * 1e3;
    state.counters[StrCat(name, "p99_ms")] = times[times.size() * 99 / 100] * 1e3;
  };
  tell("", cycles);
  tell("push_", steps);
  state.counters["rows/s"] = benchmark::Counter(rows, benchmark::Counter::kIsRate);
  state.counters["of_loop"] = benchmark::Counter(rows / cycle_loop, benchmark::Counter::kIsRate);
  state.counters["of_push_loop"] =
      benchmark::Counter(rows / push_loop, benchmark::Counter::kIsRate);
  state.counters["loop_rows/s"] = cycle_loop;
  if (state.range(4) == 0) {  // otherwise a push continues while the next rows are read
    state.counters["push_rows/s"] = push_rate;
    state.counters["push_of_loop"] = push_rate / push_loop;
  }
  state.counters["push_loop_rows/s"] = push_loop;
  state.counters["written_MB"] = (WrittenBytes(served.graph.pid()) - written) / count / 1e6;
  state.SetLabel(StrCat(OptimizerStateName(kind), ", ", kDurabilities[state.range(3)],
                        zipf ? ", Zipf, " : ", uniform, ",
                        state.range(5) != 0 ? "in write-back, " : "",
                        transport == Transport::kAuto   ? "mapped"
                        : transport == Transport::kUnix ? "unix"
                                                        : "tcp"));
}

// Registers all kinds of state on mapped memory; with durability `process` also with staleness,
// over TCP, and during write-back.
void EveryKind(benchmark::internal::Benchmark* bench) {
  for (const int64_t durability : {0, 1, 2}) {
    for (const OptimizerState state : {OptimizerState::kAdagrad, OptimizerState::kAdam}) {
      for (const int64_t zipf : {0, 1}) {
        const auto kind = static_cast<int64_t>(state);
        bench->Args({0, zipf, kind, durability, 0, 0});
        if (durability != 1) continue;
        bench->Args({0, zipf, kind, durability, 2, 0});
        bench->Args({2, zipf, kind, durability, 0, 0});
      }
    }
  }
  for (const int64_t staleness : {0, 2}) {
    bench->Args({0, 0, static_cast<int64_t>(OptimizerState::kAdagrad), 1, staleness, 5});
  }
}
BENCHMARK(BM_EmbeddingStep)
    ->ArgNames({"transport", "zipf", "state", "durability", "staleness", "write_back"})
    ->Apply(EveryKind)
    ->Iterations(1000)
    ->UseRealTime()
    ->Unit(benchmark::kMillisecond);

// Measures the time from the end of a daemon in the middle of pushes until a new one serves its
// rows.
void BM_Recovery(benchmark::State& state) {
  ServedTable& served = TableFor(state.range(0), OptimizerState::kAdagrad, 0);
  const DistGraph graph(Initialize(served.graph.ClientOptions(Transport::kAuto)));
  DistEmbedding embedding(graph, ServedTable::Embedding());
  const auto optimizer = served.Optimizer(embedding, 2);
  const auto pushes = DrawRows(/*zipf=*/false);
  for (auto _ : state) {
    state.PauseTiming();
    for (size_t i = 0; i < kPushes; i++) {
      embedding.Backward(pushes[i], ServedTable::GradientTensor());
      optimizer->Step();
    }
    state.ResumeTiming();
    served.graph.KillAndStartAgain();
    benchmark::DoNotOptimize(embedding.weight().Read(pushes[0]).data());
    state.PauseTiming();
    optimizer->Wait();
    state.ResumeTiming();
  }
  state.SetLabel(kDurabilities[state.range(0)]);
}
BENCHMARK(BM_Recovery)
    ->ArgName("durability")
    ->Arg(1)
    ->Arg(2)
    ->Iterations(3)
    ->UseRealTime()
    ->Unit(benchmark::kMillisecond);

}  // namespace
}  // namespace graphd::bench

int main(int argc, char** argv) {
  benchmark::Initialize(&argc, argv);
  if (benchmark::ReportUnrecognizedArguments(argc, argv)) return 1;
  benchmark::RunSpecifiedBenchmarks();
  graphd::bench::last_table.reset();
  return 0;
}
