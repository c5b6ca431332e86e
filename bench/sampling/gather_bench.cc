// SPDX-License-Identifier: Apache-2.0
// Measures the gathering of random rows on one core, stored as they are read or in fewer bytes:
// rows per second, and the ratio to plain copies of rows of the read dtype.
#include <benchmark/benchmark.h>

#include <string>

#include "base/index.h"
#include "base/rng.h"
#include "bench/support/bench_graph.h"
#include "bench/support/limits.h"
#include "graph/segment.h"
#include "sampling/gather.h"

namespace graphd::bench {
namespace {

constexpr int64_t kRows = 2'400'000;
constexpr size_t kGathered = 100'000;

// Returns a table in a segment, on huge pages as the daemon's.
FeatureTable MakeTable(const Encoding& encoding, int64_t width) {
  SegmentLayout layout;
  layout.Add("rows", encoding, {kRows, width});
  SegmentWriter writer("gather_bench", std::move(layout));
  CounterRng rng(1);
  // Bytes below 64 are finite numbers in every dtype.
  for (std::byte& byte : writer.bytes()) byte = static_cast<std::byte>(rng.Next() & 0x3f);
  return FeatureTable(std::move(writer).Seal()->array("rows"), encoding);
}

void BM_GatherRows(benchmark::State& state, const Encoding& encoding, int64_t width) {
  const FeatureTable table = MakeTable(encoding, width);
  const std::vector<int64_t> rows = RandomIds(kGathered, kRows, 3);
  std::vector<std::byte> out(kGathered * table.row_bytes());
  for (auto _ : state) {
    GatherRows(table, rows, {}, out.data());
    benchmark::ClobberMemory();
  }
  state.counters["rows/s"] =
      benchmark::Counter(kGathered, benchmark::Counter::kIsIterationInvariantRate);
  const size_t plain_bytes = Index(kRows) * table.row_bytes();
  state.counters["of_limit"] =
      benchmark::Counter(kGathered * RandomRowNs(plain_bytes, table.row_bytes()) / 1e9,
                         benchmark::Counter::kIsIterationInvariantRate);
}

void Add(const std::string& name, const Encoding& encoding, int64_t width) {
  benchmark::RegisterBenchmark(("BM_GatherRows/" + name).c_str(), [=](benchmark::State& state) {
    BM_GatherRows(state, encoding, width);
  })->Unit(benchmark::kMillisecond);
}

const int registered = [] {
  Add("int64_x1/plain", Encoding::Plain(DType::kInt64), 1);
  Add("int64_x1/uint32", {DType::kUInt32, DType::kInt64, 1}, 1);
  Add("int64_x1/uint8", {DType::kUInt8, DType::kInt64, 1}, 1);
  Add("float32_x100/plain", Encoding::Plain(DType::kFloat32), 100);
  Add("float32_x100/float16", {DType::kFloat16, DType::kFloat32, 1}, 100);
  Add("float32_x100/bfloat16", {DType::kBFloat16, DType::kFloat32, 1}, 100);
  Add("float32_x100/int8", {DType::kInt8, DType::kFloat32, 0.5f}, 100);
  return 0;
}();

}  // namespace
}  // namespace graphd::bench
