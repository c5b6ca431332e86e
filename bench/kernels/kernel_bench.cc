// SPDX-License-Identifier: Apache-2.0
// Runs small kernels that bench/guard counts the instructions of, besides those of sampling_bench:
// the gathering of rows, the writing and reading of a hop request, and the application of a push.
// Their data is small and they run in one thread, so that valgrind counts the same each time.
#include <benchmark/benchmark.h>
#include <capnp/message.h>
#include <stdlib.h>

#include <algorithm>
#include <filesystem>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "base/rng.h"
#include "bench/support/bench_graph.h"
#include "graph/partition.h"
#include "graph/segment.h"
#include "sampling/gather.h"
#include "sampling/hop_request.h"
#include "store/rows/row_order.h"
#include "store/rows/table.h"
#include "store/store.h"
#include "wire/hop_messages.h"
#include "wire/id_arrays.h"

namespace graphd::bench {
namespace {

using namespace graphd::store;

constexpr int64_t kRows = kSmall.nodes;
constexpr size_t kMany = 5'000;

std::vector<int64_t> RandomRows(uint64_t seed) { return RandomIds(kMany, kRows, seed); }

void BM_GatherFew(benchmark::State& state, const Encoding& encoding) {
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
}
BENCHMARK_CAPTURE(BM_GatherFew, float32, Encoding::Plain(DType::kFloat32));
BENCHMARK_CAPTURE(BM_GatherFew, float16, Encoding{DType::kFloat16, DType::kFloat32, 1});
BENCHMARK_CAPTURE(BM_GatherFew, int8, Encoding{DType::kInt8, DType::kFloat32, 0.5});

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
}
BENCHMARK(BM_HopRequest);

// Applies a push to a table whose pages are in memory, without the log.
void BM_ApplyPush(benchmark::State& state, OptimizerState kind, UpdateKind update) {
  std::string directory = (std::filesystem::temp_directory_path() / "kernel_bench.XXXXXX").string();
  if (::mkdtemp(directory.data()) == nullptr) return state.SkipWithError("mkdtemp failed");
  StoreOptions options;
  options.directory = directory;
  options.durability = Durability::kNone;
  {
    Store store(options);
    TableSpec spec;
    spec.name = "embedding";
    spec.row_shape = {128};
    spec.rows = kRows;
    spec.state = kind;
    const std::shared_ptr<Table> table = store.OpenTable(spec);
    const std::vector<int64_t> rows = RandomRows(4);
    table->Touch(rows);
    const std::vector<float> gradients(kMany * 128, 0.01F);
    Push push;
    push.rule.kind = update;
    push.client = {1, 1};
    push.rows = rows;
    push.payload = std::as_bytes(std::span(gradients));
    RowOrder order(kMany);
    Table::Scratch scratch;
    for (auto _ : state) {
      push.lsn++;
      push.sequence++;
      order.Sort(rows, kRows);
      for (size_t lane = 0; lane < RowOrder::kLanes; lane++) {
        table->Apply(push, order.lane(lane), scratch);
      }
    }
  }
  std::filesystem::remove_all(directory);
}
BENCHMARK_CAPTURE(BM_ApplyPush, adagrad, OptimizerState::kAdagrad, UpdateKind::kAdagrad);
BENCHMARK_CAPTURE(BM_ApplyPush, adam, OptimizerState::kAdam, UpdateKind::kAdam);

}  // namespace
}  // namespace graphd::bench

BENCHMARK_MAIN();
