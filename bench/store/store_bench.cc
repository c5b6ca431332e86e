// SPDX-License-Identifier: Apache-2.0
#include <benchmark/benchmark.h>
#include <time.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <condition_variable>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <memory>
#include <mutex>
#include <string>
#include <system_error>
#include <thread>
#include <utility>
#include <vector>

#include "bench/store/push_loop.h"
#include "sampling/gather.h"
#include "store/rows/arena_reader.h"
#include "store/store.h"

// Measures pushes of 10,000 gradients of 128 floats to a table of 2.4 million rows, as one trainer
// sends them: two are in flight at any time, and each is timed from submission to acknowledgement.
// "of_loop" is the rate relative to a plain loop over memory that does the same arithmetic on one
// core, without a log, in the same run. "cpu_of_loop" is the processor time of all threads per row,
// relative to the loop: it hardly depends on the load of the machine. "written" is the bytes
// written to files per push, for log and write-back. The log has created its files before anything
// is timed. Write-back begins after five seconds, or when the log is half full: short runs hardly
// include it, runs with --benchmark_min_time=10 do. The store's directory is $GRAPHD_BENCH_DIR or
// /tmp/graphd_store_bench.

namespace graphd::bench {
namespace {

using namespace graphd::store;

constexpr size_t kInFlight = 2;
constexpr double kWriteBackSeconds = 5;
constexpr uint64_t kWarmUpBytes = uint64_t{3} << 30;

std::byte* AsBytes(std::vector<float>& values) {
  return reinterpret_cast<std::byte*>(values.data());
}

// Returns the bytes that this process has passed to write(2) and similar calls.
double WrittenBytes() {
  std::ifstream io("/proc/self/io");
  for (std::string line; std::getline(io, line);) {
    if (line.starts_with("wchar:")) return std::stod(line.substr(6));
  }
  return 0;
}

Push PushOf(OptimizerState state) {
  Push push;
  push.rule = RuleOf(state);
  push.client = {1, 1};
  push.payload = std::as_bytes(std::span(Gradients()));
  return push;
}

// A table with every page in memory, in a store whose log has the files that it needs.
struct Served {
  Served(OptimizerState state, Durability durability) : push(PushOf(state)) {
    const char* wanted = std::getenv("GRAPHD_BENCH_DIR");
    StoreOptions options;
    options.directory = wanted != nullptr ? wanted : "/tmp/graphd_store_bench";
    std::filesystem::remove_all(options.directory);
    options.durability = durability;
    options.write_back_seconds = kWriteBackSeconds;
    options.memory_dir = MemoryDirectory();
    directory = options.directory;
    store = std::make_unique<Store>(options);
    if (durability != Durability::kNone) WarmUpLog();
    TableSpec spec;
    spec.name = "embedding";
    spec.row_shape = {static_cast<int64_t>(kElements)};
    spec.rows = kTableRows;
    spec.state = state;
    table = store->OpenTable(spec);
    std::vector<int64_t> all(kTableRows);
    for (int64_t i = 0; i < kTableRows; i++) all[static_cast<size_t>(i)] = i;
    table->Touch(all);
  }
  ~Served() {
    table.reset();
    store.reset();
    std::filesystem::remove_all(directory);
  }
  // Pushes to another table, whose few pages are soon written back.
  void WarmUpLog() {
    TableSpec spec;
    spec.name = "warm-up";
    spec.row_shape = {static_cast<int64_t>(kElements)};
    spec.rows = kPushRows;
    const auto few = store->OpenTable(spec);
    std::vector<int64_t> rows(kPushRows);
    for (size_t i = 0; i < kPushRows; i++) rows[i] = static_cast<int64_t>(i);
    Push warm = push;
    warm.rule = {.kind = UpdateKind::kSet};
    warm.client = {1, 2};
    warm.rows = rows;
    for (uint64_t bytes = 0; bytes < kWarmUpBytes; bytes += warm.payload.size()) {
      warm.sequence++;
      store->Apply(few, warm);
    }
    store->WriteBackNow();
    store->DropTable(spec.name);
  }

  std::string directory;
  Push push;  // without rows
  std::unique_ptr<Store> store;
  std::shared_ptr<Table> table;
};

std::unique_ptr<Served> last_served;  // destroyed before main ends

// Creates the table once for all runs of a benchmark, with any number of iterations.
Served& ServedFor(OptimizerState state, Durability durability) {
  static std::pair<OptimizerState, Durability> kind;
  if (last_served == nullptr || kind != std::pair(state, durability)) {
    last_served.reset();
    last_served = std::make_unique<Served>(state, durability);
    kind = {state, durability};
  }
  return *last_served;
}

// Submits a push, and repeats it while the store is overloaded.
void Submit(Served& served, const Push& push, const Pipeline::Done& done) {
  for (;;) {
    try {
      return served.store->Submit(served.table, push, done);
    } catch (const Error& error) {
      if (error.code() != ErrorCode::kOverloaded) throw;
      std::this_thread::sleep_for(std::chrono::milliseconds(1));
    }
  }
}

void BM_StorePush(benchmark::State& state) {
  const bool zipf = state.range(0) != 0;
  const auto kind = static_cast<OptimizerState>(state.range(1));
  const LoopCost loop = MeasureLoops(kind, zipf).step;
  Served& served = ServedFor(kind, static_cast<Durability>(state.range(2)));
  const std::vector<std::vector<int64_t>> pushes = DrawRows(zipf);
  Push& push = served.push;
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
    Submit(served, push, [&, begin](const Error* error) {
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
    ->ArgNames({"zipf", "state", "durability"})
    ->ArgsProduct({{0, 1},
                   {static_cast<int64_t>(OptimizerState::kAdagrad),
                    static_cast<int64_t>(OptimizerState::kAdam)},
                   {static_cast<int64_t>(Durability::kNone),
                    static_cast<int64_t>(Durability::kProcess),
                    static_cast<int64_t>(Durability::kPower)}})
    ->UseRealTime()
    ->Unit(benchmark::kMillisecond);

// Copies the files that a loss of power would leave. The file `memory` is removed from the copy: it
// names the running store's memory, which a loss of power would clear. Tries again if the store
// removes files during the copy.
void CopyOfRunningStore(const std::string& from, const std::string& to) {
  std::error_code error;
  for (int attempt = 0; attempt < 10; attempt++) {
    std::filesystem::remove_all(to);
    std::filesystem::copy(from, to, std::filesystem::copy_options::recursive, error);
    if (!error) break;
  }
  if (error) throw std::filesystem::filesystem_error("can't copy the store", from, to, error);
  std::filesystem::remove_all(to + "/memory");
}

// Measures opening a store after a loss of power, with pushes in the log that are not in RocksDB's
// pages.
void BM_StoreRecovery(benchmark::State& state) {
  const auto kind = static_cast<OptimizerState>(state.range(0));
  last_served.reset();  // it uses the same directory
  Served served(kind, Durability::kPower);
  const std::vector<std::vector<int64_t>> pushes = DrawRows(/*zipf=*/false);
  Push& push = served.push;
  const auto apply = [&](size_t count) {
    for (size_t i = 0; i < count; i++) {
      push.rows = pushes[push.sequence % kPushes];
      push.sequence++;
      served.store->Apply(served.table, push);
    }
  };
  apply(2 * kPushes);
  served.store->WriteBackNow();
  apply(2 * kPushes);
  StoreOptions options;
  options.directory = served.directory + ".copy";
  options.durability = Durability::kPower;
  for (auto _ : state) {
    CopyOfRunningStore(served.directory, options.directory);
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

// Measures reads of 10,000 random rows by a trainer that maps the daemon's memory.
void BM_MappedRead(benchmark::State& state) {
  const Served& served = ServedFor(OptimizerState::kAdagrad, Durability::kNone);
  const ArenaReader reader(UniqueFd(::dup(served.table->arena().reader_fd())), kTableRows,
                           kElements * sizeof(float));
  const std::vector<std::vector<int64_t>> pulls = DrawRows(/*zipf=*/false);
  std::vector<float> out(kPushRows * kElements);
  std::vector<uint32_t> missing;
  for (int64_t row = 0; row < kTableRows; row++) reader.TryRead(row, AsBytes(out));  // page faults
  size_t i = 0;
  for (auto _ : state) {
    reader.Read(pulls[i++ % kPushes], {}, AsBytes(out), missing);
    benchmark::DoNotOptimize(out.data());
  }
  if (!missing.empty()) state.SkipWithError("rows that were loaded are missing");
  state.counters["rows/s"] = benchmark::Counter(static_cast<double>(state.iterations() * kPushRows),
                                                benchmark::Counter::kIsRate);
}
BENCHMARK(BM_MappedRead)->UseRealTime()->Unit(benchmark::kMillisecond);

// Measures the same reads from this process's own memory, mapped in the same way, without sequence
// locks: the cost of a gather.
void BM_BareGather(benchmark::State& state) {
  std::vector<float> out(kPushRows * kElements);
  Arena arena("gather", {kTableRows, kElements * sizeof(float), 0});
  uint64_t taken = 0;
  for (uint64_t page = 0; page < arena.num_pages(); page++) arena.Reserve(page, taken);
  for (int64_t row = 0; row < kTableRows; row++) arena.Write(row, AsBytes(out));  // page faults
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

// Measures reads of 10,000 random rows in the daemon.
void BM_StoreRead(benchmark::State& state) {
  const Served& served = ServedFor(OptimizerState::kAdagrad, Durability::kNone);
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

int main(int argc, char** argv) {
  benchmark::Initialize(&argc, argv);
  if (benchmark::ReportUnrecognizedArguments(argc, argv)) return 1;
  benchmark::RunSpecifiedBenchmarks();
  graphd::bench::last_served.reset();
  return 0;
}
