// SPDX-License-Identifier: Apache-2.0
// Runs small kernels whose instructions bench/guard counts, besides those of sampling_bench: the
// gathering of rows, the writing and reading of a hop request, and the updates of a push. Their
// data is small and they run in one thread, so that valgrind counts the same each time. After the
// loop that bench/guard counts, each is compared with a plain loop over the same data.
#include <benchmark/benchmark.h>
#include <capnp/message.h>
#include <time.h>

#include <algorithm>
#include <cstring>
#include <vector>

#include "base/index.h"
#include "base/rng.h"
#include "bench/store/push_loop.h"
#include "bench/support/bench_graph.h"
#include "graph/partition.h"
#include "graph/segment.h"
#include "sampling/gather.h"
#include "sampling/hop_request.h"
#include "store/rows/apply_rule.h"
#include "store/rows/row_order.h"
#include "wire/hop_messages.h"
#include "wire/id_arrays.h"

namespace graphd::bench {
namespace {

using namespace graphd::store;

constexpr int64_t kRows = kSmall.nodes;
constexpr size_t kMany = 5'000;

std::vector<int64_t> RandomRows(uint64_t seed) { return RandomIds(kMany, kRows, seed); }

// Sets the counters of a benchmark that handled kMany of `things` in each iteration: their rate,
// and its ratio to the rate of plain(), which does the least for the same result.
template <class Plain>
void ReportPlain(benchmark::State& state, const char* things, const Plain& plain) {
  double least = 1e9;
  for (int run = 0; run < 20; run++) {
    const double begin = CpuSeconds(CLOCK_THREAD_CPUTIME_ID);
    plain();
    benchmark::ClobberMemory();
    least = std::min(least, CpuSeconds(CLOCK_THREAD_CPUTIME_ID) - begin);
  }
  const auto calls = static_cast<double>(state.iterations());
  state.counters[things] =
      benchmark::Counter(calls * static_cast<double>(kMany), benchmark::Counter::kIsRate);
  state.counters["of_limit"] = benchmark::Counter(calls * least, benchmark::Counter::kIsRate);
}

void BM_SmallGather(benchmark::State& state, const Encoding& encoding) {
  SegmentLayout layout;
  layout.Add("rows", encoding, {kRows, 100});
  SegmentWriter writer("kernel_bench", std::move(layout));
  CounterRng rng(1);
  // Bytes below 64 are finite numbers in every dtype.
  for (std::byte& byte : writer.bytes()) byte = static_cast<std::byte>(rng.Next() & 0x3f);
  const FeatureTable table(std::move(writer).Seal()->array("rows"), encoding);
  const std::vector<int64_t> rows = RandomRows(2);
  std::vector<std::byte> out(kMany * table.row_bytes());
  for (auto _ : state) {
    GatherRows(table, rows, {}, out.data());
    benchmark::ClobberMemory();
  }
  const size_t stored = table.row_elements() * DTypeSize(encoding.stored);
  const std::vector<std::byte> source(Index(kRows) * stored);
  ReportPlain(state, "rows/s", [&] {
    for (size_t i = 0; i < kMany; i++) {
      std::memcpy(out.data() + i * stored, source.data() + Index(rows[i]) * stored, stored);
    }
  });
}
BENCHMARK_CAPTURE(BM_SmallGather, float32, Encoding::Plain(DType::kFloat32));
BENCHMARK_CAPTURE(BM_SmallGather, float16, Encoding{DType::kFloat16, DType::kFloat32, 1});
BENCHMARK_CAPTURE(BM_SmallGather, int8, Encoding{DType::kInt8, DType::kFloat32, 0.5});

// Writes a request for one hop and reads it as a daemon does.
void BM_HopRequest(benchmark::State& state) {
  const GraphMeta& meta = LocalPartition(kSmall).meta();
  const std::vector<int64_t> seeds = RandomRows(3);
  std::vector<int64_t> read(kMany);
  HopRequest hop;
  hop.seeds.emplace_back();
  hop.seeds[0].nodes.ids = seeds;
  hop.rules.emplace_back();
  hop.rules[0].rule.fanout = 10;
  for (auto _ : state) {
    capnp::MallocMessageBuilder message(static_cast<unsigned>(HopWords(hop)) + 16);
    auto params = message.initRoot<wire::Session::HopParams>();
    WriteHop(meta, 0, hop, params);
    for (const wire::Seeds::Reader list : params.asReader().getSeeds()) {
      const ReceivedSeeds received = ReadSeeds(list);
      ReadIds(received.ids, received.ids.size() / kMany, read.data(), kMany);
      benchmark::DoNotOptimize(read.data());
    }
    for (const wire::SamplingRule::Reader rule : params.asReader().getRules()) {
      benchmark::DoNotOptimize(ReadRule(rule).applied.key);
    }
  }
  std::vector<uint32_t> sent(kMany);
  ReportPlain(state, "ids/s", [&] {
    std::transform(seeds.begin(), seeds.end(), sent.begin(),
                   [](int64_t id) { return static_cast<uint32_t>(id); });
    benchmark::DoNotOptimize(sent.data());
    std::copy(sent.begin(), sent.end(), read.begin());
  });
}
BENCHMARK(BM_HopRequest);

// Sorts the rows of a push and does the optimiser's step for each, as a lane of a table does. A
// whole store has threads, which valgrind runs one at a time and too slowly.
void BM_UpdateRows(benchmark::State& state, OptimizerState kind) {
  const std::vector<int64_t> rows = RandomRows(4);
  const std::vector<float> gradient(kElements, 0.01F);
  const size_t state_floats = StateFloats(kind, kElements);
  std::vector<float> values(Index(kRows) * kElements), states(Index(kRows) * state_floats);
  const UpdateRule rule = RuleOf(kind);
  for (auto _ : state) {
    RowOrder order(kMany);  // It sorts once.
    order.Sort(rows, kRows);
    for (size_t lane = 0; lane < RowOrder::kLanes; lane++) {
      for (uint32_t position : order.lane(lane)) {
        const size_t row = Index(rows[position]);
        Step(rule, kElements, gradient.data(), values.data() + row * kElements,
             states.data() + row * state_floats);
      }
    }
    benchmark::ClobberMemory();
  }
  ReportPlain(state, "rows/s", [&] {
    for (int64_t id : rows) {
      const size_t row = Index(id);
      Step(rule, kElements, gradient.data(), values.data() + row * kElements,
           states.data() + row * state_floats);
    }
  });
}
BENCHMARK_CAPTURE(BM_UpdateRows, adagrad, OptimizerState::kAdagrad);
BENCHMARK_CAPTURE(BM_UpdateRows, adam, OptimizerState::kAdam);

}  // namespace
}  // namespace graphd::bench

BENCHMARK_MAIN();
