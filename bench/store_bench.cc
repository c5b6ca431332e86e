// SPDX-License-Identifier: Apache-2.0
#include <benchmark/benchmark.h>
#include <time.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <cmath>
#include <condition_variable>
#include <filesystem>
#include <fstream>
#include <memory>
#include <mutex>
#include <string>
#include <vector>

#include "base/huge_array.h"
#include "base/rng.h"
#include "sampling/gather.h"
#include "store/arena_reader.h"
#include "store/store.h"

// Pushes of 10,000 gradients of 128 floats to a table of 2.4 million rows, as one trainer sends
// them: two are on their way at any time, and each is timed from its submission to its
// acknowledgement. "of_loop" is the share of the rate of a bare loop over memory that does the same
// arithmetic on one core, unlogged, in the same run; "cpu_of_loop" how much of a processor's time a
// row takes, of all threads, with the loop's as one: it hardly depends on what else the machine
// does. "written" is what goes to files for a push, log and write-back together. Write-back begins
// after five seconds: --benchmark_min_time=10 has it in the figures, 2 has not. The store's
// directory is $GRAPHD_BENCH_DIR or /tmp/graphd_store_bench.

namespace graphd::bench {
namespace {

using namespace graphd::store;

constexpr int64_t kRows = 2'400'000;
constexpr size_t kElements = 128, kPushRows = 10'000, kPushes = 64, kInFlight = 2;

// Rows of pushes, drawn before anything is timed: uniform, or Zipf's law with exponent 1.
std::vector<std::vector<int64_t>> DrawRows(bool zipf) {
  CounterRng rng(5);
  std::vector<std::vector<int64_t>> pushes(kPushes);
  for (std::vector<int64_t>& rows : pushes) {
    for (size_t i = 0; i < kPushRows; i++) {
      uint64_t row = rng.Below(kRows);
      if (zipf) {
        const double u = static_cast<double>(rng.Next() >> 11) * 0x1p-53;
        row = static_cast<uint64_t>(std::exp(u * std::log(static_cast<double>(kRows))));
        row = Mix64(row) % kRows;
      }
      rows.push_back(static_cast<int64_t>(row));
    }
  }
  return pushes;
}

const std::vector<float>& Gradients() {
  static const std::vector<float> gradients = [] {
    CounterRng rng(7);
    std::vector<float> all(kPushRows * kElements);
    for (float& g : all) g = static_cast<float>(rng.Below(2001)) / 1000 - 1;
    return all;
  }();
  return gradients;
}

std::byte* AsBytes(std::vector<float>& values) {
  return reinterpret_cast<std::byte*>(values.data());
}

UpdateRule RuleOf(OptimizerState state) {
  return {.kind = state == OptimizerState::kAdam ? UpdateKind::kAdam : UpdateKind::kAdagrad};
}

double CpuSeconds(clockid_t clock) {
  timespec now{};
  ::clock_gettime(clock, &now);
  return static_cast<double>(now.tv_sec) + static_cast<double>(now.tv_nsec) * 1e-9;
}

// Bytes that this process gave to write(2) and the like.
double WrittenBytes() {
  std::ifstream io("/proc/self/io");
  for (std::string line; std::getline(io, line);) {
    if (line.starts_with("wchar:")) return std::stod(line.substr(6));
  }
  return 0;
}

struct LoopCost {
  double rows_per_second = 0, cpu_per_row = 0;
};

// The arithmetic alone: one thread, memory on large pages, nothing kept.
LoopCost MeasureLoop(OptimizerState state, bool zipf) {
  static LoopCost costs[2][2] = {};
  LoopCost& cost = costs[state == OptimizerState::kAdam][zipf];
  if (cost.rows_per_second != 0) return cost;
  const size_t floats = StateFloats(state, kElements);
  HugeArray<float> values(static_cast<size_t>(kRows) * kElements, "values");
  HugeArray<float> states(static_cast<size_t>(kRows) * floats, "state");
  std::fill_n(values.data(), values.size(), 1.0F);
  std::fill_n(states.data(), states.size(), 0.0F);
  std::vector<std::vector<int64_t>> pushes = DrawRows(zipf);
  for (auto& rows : pushes) std::sort(rows.begin(), rows.end());
  const UpdateRule rule = RuleOf(state);
  std::vector<float> out(kElements);
  const double cpu = CpuSeconds(CLOCK_THREAD_CPUTIME_ID);
  const auto begin = std::chrono::steady_clock::now();
  for (const std::vector<int64_t>& rows : pushes) {
    for (size_t i = 0; i < kPushRows; i++) {
      if (i + 4 < kPushRows) {
        const auto ahead = static_cast<size_t>(rows[i + 4]);
        for (size_t k = 0; k < kElements; k += 16) {
          __builtin_prefetch(values.data() + ahead * kElements + k);
        }
        for (size_t k = 0; k < floats; k += 16) {
          __builtin_prefetch(states.data() + ahead * floats + k);
        }
      }
      float* value = values.data() + static_cast<size_t>(rows[i]) * kElements;
      Step(rule, kElements, Gradients().data() + i * kElements, value,
           states.data() + static_cast<size_t>(rows[i]) * floats, out.data());
      std::copy(out.begin(), out.end(), value);
    }
  }
  const std::chrono::duration<double> took = std::chrono::steady_clock::now() - begin;
  const double rows = kPushes * kPushRows;
  cost = {rows / took.count(), (CpuSeconds(CLOCK_THREAD_CPUTIME_ID) - cpu) / rows};
  return cost;
}

// A table with every page in memory, kept from benchmark to benchmark of the same kind.
struct Served {
  Served(OptimizerState state, Durability durability) {
    const char* wanted = std::getenv("GRAPHD_BENCH_DIR");
    StoreOptions options;
    options.directory = wanted != nullptr ? wanted : "/tmp/graphd_store_bench";
    std::filesystem::remove_all(options.directory);
    options.durability = durability;
    options.write_back_seconds = 5;
    directory = options.directory;
    store = std::make_unique<Store>(options);
    TableSpec spec;
    spec.name = "embedding";
    spec.row_shape = {static_cast<int64_t>(kElements)};
    spec.rows = kRows;
    spec.state = state;
    table = store->OpenTable(spec);
    std::vector<int64_t> all(kRows);
    for (int64_t i = 0; i < kRows; i++) all[static_cast<size_t>(i)] = i;
    table->Touch(all);
  }
  ~Served() {
    table.reset();
    store.reset();
    std::filesystem::remove_all(directory);
  }
  std::string directory;
  std::unique_ptr<Store> store;
  std::shared_ptr<Table> table;
};

void BM_StorePush(benchmark::State& state) {
  const auto kind = static_cast<OptimizerState>(state.range(0));
  const bool zipf = state.range(1) != 0;
  const LoopCost loop = MeasureLoop(kind, zipf);
  Served served(kind, static_cast<Durability>(state.range(2)));
  const std::vector<std::vector<int64_t>> pushes = DrawRows(zipf);
  Push push;
  push.rule = RuleOf(kind);
  push.client = {1, 1};
  push.payload = std::as_bytes(std::span(Gradients()));
  std::mutex mutex;
  std::condition_variable changed;
  size_t in_flight = 0;
  std::vector<double> seconds;
  const double cpu = CpuSeconds(CLOCK_PROCESS_CPUTIME_ID), written = WrittenBytes();
  for (auto _ : state) {
    {
      std::unique_lock lock(mutex);
      changed.wait(lock, [&] { return in_flight < kInFlight; });
      in_flight++;
    }
    push.rows = pushes[push.sequence % kPushes];
    push.sequence++;
    const auto begin = std::chrono::steady_clock::now();
    served.store->Submit(served.table, push, [&, begin](const Error* error) {
      const std::chrono::duration<double> took = std::chrono::steady_clock::now() - begin;
      std::lock_guard lock(mutex);
      if (error != nullptr) state.SkipWithError(error->what());
      seconds.push_back(took.count());
      in_flight--;
      changed.notify_one();
    });
  }
  std::unique_lock lock(mutex);
  changed.wait(lock, [&] { return in_flight == 0; });
  const double cpu_took = CpuSeconds(CLOCK_PROCESS_CPUTIME_ID) - cpu;
  std::sort(seconds.begin(), seconds.end());
  const auto pushes_done = static_cast<double>(state.iterations());
  const double rows = pushes_done * kPushRows;
  state.counters["rows/s"] = benchmark::Counter(rows, benchmark::Counter::kIsRate);
  state.counters["of_loop"] =
      benchmark::Counter(rows / loop.rows_per_second, benchmark::Counter::kIsRate);
  state.counters["cpu_of_loop"] = cpu_took / rows / loop.cpu_per_row;
  state.counters["loop_rows/s"] = loop.rows_per_second;
  state.counters["written_MB"] = (WrittenBytes() - written) / pushes_done / 1e6;
  state.counters["p50_ms"] = seconds[seconds.size() / 2] * 1e3;
  state.counters["p99_ms"] = seconds[seconds.size() * 99 / 100] * 1e3;
}
BENCHMARK(BM_StorePush)
    ->ArgNames({"state", "zipf", "durability"})
    ->ArgsProduct({{static_cast<int64_t>(OptimizerState::kAdagrad),
                    static_cast<int64_t>(OptimizerState::kAdam)},
                   {0, 1},
                   {static_cast<int64_t>(Durability::kNone),
                    static_cast<int64_t>(Durability::kProcess),
                    static_cast<int64_t>(Durability::kPower)}})
    ->UseRealTime()
    ->Unit(benchmark::kMillisecond);

// Opening after the end of the process: pushes that are in the log only, behind pages of RocksDB.
void BM_StoreRecovery(benchmark::State& state) {
  const auto kind = static_cast<OptimizerState>(state.range(0));
  Served served(kind, Durability::kProcess);
  const std::vector<std::vector<int64_t>> pushes = DrawRows(/*zipf=*/false);
  Push push;
  push.rule = RuleOf(kind);
  push.client = {1, 1};
  push.payload = std::as_bytes(std::span(Gradients()));
  const auto apply = [&](size_t count) {
    for (size_t i = 0; i < count; i++) {
      push.rows = pushes[push.sequence % kPushes];
      push.sequence++;
      served.store->Apply(served.table, push);
    }
  };
  apply(2 * kPushes);
  served.store->WriteBack();
  apply(2 * kPushes);
  StoreOptions options;
  options.directory = served.directory + ".copy";
  for (auto _ : state) {
    std::filesystem::remove_all(options.directory);
    std::filesystem::copy(served.directory, options.directory,
                          std::filesystem::copy_options::recursive);
    const auto begin = std::chrono::steady_clock::now();
    auto store = std::make_unique<Store>(options);
    const std::chrono::duration<double> took = std::chrono::steady_clock::now() - begin;
    state.SetIterationTime(took.count());
    state.counters["pushes"] = static_cast<double>(store->status().replayed);
    state.counters["table_MB"] = static_cast<double>(store->status().resident_bytes) / 1e6;
    store.reset();
  }
  std::filesystem::remove_all(options.directory);
}
BENCHMARK(BM_StoreRecovery)
    ->ArgName("state")
    ->Arg(static_cast<int64_t>(OptimizerState::kAdagrad))
    ->Arg(static_cast<int64_t>(OptimizerState::kAdam))
    ->UseManualTime()
    ->Iterations(1)
    ->Unit(benchmark::kMillisecond);

// 10,000 random rows to a trainer, which maps the daemon's memory.
void BM_MappedRead(benchmark::State& state) {
  Served served(OptimizerState::kAdagrad, Durability::kNone);
  const ArenaReader reader(UniqueFd(::dup(served.table->arena().reader_fd())), kRows,
                           kElements * sizeof(float));
  const std::vector<std::vector<int64_t>> pulls = DrawRows(/*zipf=*/false);
  std::vector<float> out(kPushRows * kElements);
  std::vector<uint32_t> missing;
  for (int64_t row = 0; row < kRows; row++) reader.TryRead(row, AsBytes(out));  // page faults
  size_t i = 0;
  for (auto _ : state) {
    reader.Read(pulls[i++ % kPushes], {}, AsBytes(out), missing);
    benchmark::DoNotOptimize(out.data());
  }
  if (!missing.empty()) state.SkipWithError("rows that were touched are not there");
  state.counters["rows/s"] = benchmark::Counter(static_cast<double>(state.iterations() * kPushRows),
                                                benchmark::Counter::kIsRate);
}
BENCHMARK(BM_MappedRead)->UseRealTime()->Unit(benchmark::kMillisecond);

// The same from memory of its own, mapped alike, without the sequence locks: what a gather costs.
void BM_BareGather(benchmark::State& state) {
  std::vector<float> out(kPushRows * kElements);
  Arena arena("gather", {kRows, kElements * sizeof(float), 0});
  for (uint64_t page = 0; page < arena.num_pages(); page++) arena.Reserve(page);
  for (int64_t row = 0; row < kRows; row++) arena.Write(row, AsBytes(out));  // page faults
  const std::vector<std::vector<int64_t>> pulls = DrawRows(/*zipf=*/false);
  size_t i = 0;
  for (auto _ : state) {
    GatherRows(arena.value(0), kElements * sizeof(float), pulls[i++ % kPushes], {}, AsBytes(out));
    benchmark::DoNotOptimize(out.data());
  }
  state.counters["rows/s"] = benchmark::Counter(static_cast<double>(state.iterations() * kPushRows),
                                                benchmark::Counter::kIsRate);
}
BENCHMARK(BM_BareGather)->UseRealTime()->Unit(benchmark::kMillisecond);

// 10,000 random rows to a reader in the daemon.
void BM_StoreRead(benchmark::State& state) {
  Served served(OptimizerState::kAdagrad, Durability::kNone);
  const std::vector<std::vector<int64_t>> pulls = DrawRows(/*zipf=*/false);
  std::vector<float> out(kPushRows * kElements);
  size_t i = 0;
  for (auto _ : state) {
    served.table->Read(pulls[i++ % kPushes], AsBytes(out));
    benchmark::DoNotOptimize(out.data());
  }
  state.counters["rows/s"] = benchmark::Counter(static_cast<double>(state.iterations() * kPushRows),
                                                benchmark::Counter::kIsRate);
}
BENCHMARK(BM_StoreRead)->UseRealTime()->Unit(benchmark::kMillisecond);

}  // namespace
}  // namespace graphd::bench

BENCHMARK_MAIN();
