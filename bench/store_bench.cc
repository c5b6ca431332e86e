// SPDX-License-Identifier: Apache-2.0
#include <benchmark/benchmark.h>

#include <algorithm>
#include <chrono>
#include <cmath>
#include <condition_variable>
#include <filesystem>
#include <memory>
#include <mutex>
#include <vector>

#include "base/huge_array.h"
#include "base/rng.h"
#include "store/store.h"

// Pushes of 10,000 gradients of 128 floats to a table of 2.4 million rows, as one trainer sends
// them: two are on their way at any time, and each is timed from its submission to its
// acknowledgement. "of_loop" is the share of the rate of a bare loop over memory that does the same
// arithmetic on one core, unlogged, in the same run. The store's directory is $GRAPHD_BENCH_DIR or
// /tmp/graphd_store_bench.

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

UpdateRule RuleOf(OptimizerState state) {
  return {.kind = state == OptimizerState::kAdam ? UpdateKind::kAdam : UpdateKind::kAdagrad};
}

// Rows per second of the arithmetic alone: one thread, memory on large pages, nothing kept.
double LoopRate(OptimizerState state, bool zipf) {
  static double rates[2][2] = {};
  double& rate = rates[state == OptimizerState::kAdam][zipf];
  if (rate != 0) return rate;
  const size_t floats = StateFloats(state, kElements);
  HugeArray<float> values(static_cast<size_t>(kRows) * kElements, "values");
  HugeArray<float> states(static_cast<size_t>(kRows) * floats, "state");
  std::fill_n(values.data(), values.size(), 1.0F);
  std::fill_n(states.data(), states.size(), 0.0F);
  std::vector<std::vector<int64_t>> pushes = DrawRows(zipf);
  for (auto& rows : pushes) std::sort(rows.begin(), rows.end());
  const UpdateRule rule = RuleOf(state);
  std::vector<float> out(kElements);
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
  return rate = static_cast<double>(kPushes * kPushRows) / took.count();
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
  const double loop = LoopRate(kind, zipf);
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
  std::sort(seconds.begin(), seconds.end());
  const double rows = static_cast<double>(state.iterations() * kPushRows);
  state.counters["rows/s"] = benchmark::Counter(rows, benchmark::Counter::kIsRate);
  state.counters["of_loop"] = benchmark::Counter(rows / loop, benchmark::Counter::kIsRate);
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
    ->MinTime(8)
    ->Unit(benchmark::kMillisecond);

// 10,000 random rows to a reader in the daemon.
void BM_StoreRead(benchmark::State& state) {
  Served served(OptimizerState::kAdagrad, Durability::kNone);
  const std::vector<std::vector<int64_t>> pulls = DrawRows(/*zipf=*/false);
  std::vector<float> out(kPushRows * kElements);
  size_t i = 0;
  for (auto _ : state) {
    served.table->Read(pulls[i++ % kPushes], reinterpret_cast<std::byte*>(out.data()));
    benchmark::DoNotOptimize(out.data());
  }
  state.counters["rows/s"] = benchmark::Counter(static_cast<double>(state.iterations() * kPushRows),
                                                benchmark::Counter::kIsRate);
}
BENCHMARK(BM_StoreRead)->UseRealTime()->Unit(benchmark::kMillisecond);

}  // namespace
}  // namespace graphd::bench

BENCHMARK_MAIN();
