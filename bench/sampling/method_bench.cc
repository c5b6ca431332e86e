// SPDX-License-Identifier: Apache-2.0
// Measures every sampling method, including writing the neighbours: edges per second of one core,
// and the ratio to the rate that one random memory access per edge would allow.
#include <benchmark/benchmark.h>

#include <map>
#include <memory>
#include <optional>

#include "bench/support/bench_graph.h"
#include "bench/support/report.h"
#include "sampling/edge_query.h"
#include "sampling/edge_sampler.h"
#include "sampling/index/edge_index.h"
#include "sampling/index/out_index.h"
#include "sampling/sample_key.h"
#include "sampling/slots.h"

namespace graphd::bench {
namespace {

// A graph with the indexes that were requested so far.
class Graph {
 public:
  static Graph& Of(const Shape& shape) {
    static std::map<Shape, std::unique_ptr<Graph>> known;
    auto& graph = known[shape];
    if (!graph) graph = std::make_unique<Graph>(shape);
    return *graph;
  }
  explicit Graph(const Shape& shape) : partition_(LocalPartition(shape)) {}

  const Partition& partition() const { return partition_; }
  const Csc& csc(EdgeTypeId e) const { return partition_.csc(e); }
  const AliasIndex& alias(EdgeTypeId e) {
    if (!alias_.contains(e)) {
      alias_.emplace(e, AliasIndex(Build({EdgeIndexKind::kAlias, false, e, "weight"}), csc(e),
                                   partition_.edge_feature(e, "weight").ReadAll()));
    }
    return alias_.at(e);
  }
  const OrderIndex& order(EdgeTypeId e) {
    if (!order_.contains(e)) {
      order_.emplace(e, OrderIndex(Build({EdgeIndexKind::kOrder, false, e, "weight"}), csc(e)));
    }
    return order_.at(e);
  }
  const OutIndex& out() {
    if (!out_) out_.emplace(Build({EdgeIndexKind::kOut, false, 0, ""}));
    return *out_;
  }
  const SortedIndex& sorted() {
    if (!sorted_) sorted_.emplace(Build({EdgeIndexKind::kSorted, false, 0, ""}), csc(0));
    return *sorted_;
  }

 private:
  std::shared_ptr<const Segment> Build(const EdgeIndexSpec& spec) const {
    return BuildEdgeIndex(partition_, spec);
  }
  const Partition& partition_;
  std::map<EdgeTypeId, AliasIndex> alias_;
  std::map<EdgeTypeId, OrderIndex> order_;
  std::optional<OutIndex> out_;
  std::optional<SortedIndex> sorted_;
};

struct Variant {
  SamplingMethod method = SamplingMethod::kUniform;
  bool replace = false;
  bool arrivals = false;
  size_t excluded = 0;
  int fanout = 10;
};

void BM_Sample(benchmark::State& state, const Shape& shape, const Variant& variant) {
  Graph& graph = Graph::Of(shape);
  const auto rows =
      RandomIds(shape.etypes == 1 ? 20000 : 1000, shape.hubs ? shape.hubs : shape.nodes, 5);
  const std::vector<double> now(rows.size(), 8);  // later than about two thirds of the edges
  const EdgeSet exclude(RandomIds(variant.excluded, static_cast<int64_t>(shape.etype_edges()), 6));
  std::vector<EdgeSource> sources;
  const bool ordered = variant.method == SamplingMethod::kTopK ||
                       variant.method == SamplingMethod::kTemporalUniform ||
                       variant.method == SamplingMethod::kTemporalRecent;
  for (EdgeTypeId e = 0; e < shape.etypes; e++) {
    sources.push_back({&graph.csc(e),
                       variant.method == SamplingMethod::kWeighted ? &graph.alias(e) : nullptr,
                       ordered ? &graph.order(e) : nullptr, &exclude});
  }
  SamplingRule rule;
  rule.method = variant.method;
  rule.fanout = variant.fanout;
  rule.replace = variant.replace;
  rule.direction = variant.arrivals ? Direction::kOut : Direction::kIn;
  EdgeSampler edge_sampler;
  uint64_t key = 0;
  std::vector<uint32_t> neighbors(rows.size() * static_cast<size_t>(variant.fanout));
  size_t edges = 0;
  for (auto _ : state) {
    for (EdgeTypeId e = 0; e < shape.etypes; e++) {
      edges += edge_sampler.Sample(sources[static_cast<size_t>(e)], rows, rows, rule, ++key,
                                   std::span(now));
      WriteNeighbors(graph.csc(e), edge_sampler.slots(), neighbors.data());
      benchmark::DoNotOptimize(neighbors.data());
    }
  }
  Report(state, "edges/s", static_cast<double>(edges), shape.table_bytes());
}

void BM_SampleOut(benchmark::State& state, const Shape& shape) {
  const OutIndex& out = Graph::Of(shape).out();
  const auto sources = RandomIds(20000, shape.nodes, 5);
  std::vector<int64_t> rows(sources.size());
  EdgeSampler edge_sampler;
  uint64_t key = 0;
  SamplingRule rule;
  rule.fanout = 10;
  rule.direction = Direction::kOut;
  std::vector<uint32_t> neighbors(rows.size() * 10);
  size_t edges = 0;
  for (auto _ : state) {
    out.RowsOf(sources, rows);
    edges +=
        edge_sampler.Sample({&out.csc(), nullptr, nullptr, nullptr}, rows, sources, rule, ++key);
    WriteNeighbors(out.csc(), edge_sampler.slots(), neighbors.data());
    benchmark::DoNotOptimize(neighbors.data());
  }
  Report(state, "edges/s", static_cast<double>(edges), shape.table_bytes());
}

// Merges two parts' samples of fanout 10 for each of 20,000 seeds.
void BM_MergeByArrival(benchmark::State& state) {
  EdgeSampler edge_samplers[2];
  std::vector<PartArrivals> parts;
  SamplingRule rule;
  rule.fanout = 10;
  rule.direction = Direction::kOut;
  const auto rows = RandomIds(20000, kSmall.nodes, 5);
  for (uint32_t p = 0; p < 2; p++) {
    const uint64_t key = PartKey(rule.method, 1, p);
    edge_samplers[p].Sample({&Graph::Of(kSmall).csc(0), nullptr, nullptr, nullptr}, rows, rows,
                            rule, key);
    parts.push_back({edge_samplers[p].counts(), edge_samplers[p].arrival_keys()});
  }
  std::vector<uint32_t> counts;
  std::vector<MergedEdge> merged;
  size_t edges = 0;
  for (auto _ : state) {
    MergeByArrival(parts, 10, false, counts, merged);
    edges += merged.size();
  }
  state.counters["edges/s"] =
      benchmark::Counter(static_cast<double>(edges), benchmark::Counter::kIsRate);
}

void BM_HasEdges(benchmark::State& state, const Shape& shape) {
  Graph& graph = Graph::Of(shape);
  const auto rows = RandomIds(20000, shape.nodes, 5);
  const auto others = RandomIds(20000, shape.nodes, 6);
  std::vector<uint8_t> found(rows.size());
  size_t asked = 0;
  const SortedIndex& sorted = graph.sorted();
  for (auto _ : state) {
    HasEdges(graph.csc(0), &sorted, rows, others, found);
    asked += found.size();
  }
  Report(state, "edges/s", static_cast<double>(asked), shape.table_bytes());
}

// Measures finding the edges among 2,000 nodes.
void BM_InducedEdges(benchmark::State& state, const Shape& shape) {
  Graph& graph = Graph::Of(shape);
  auto rows = RandomIds(2000, shape.nodes, 5);
  std::sort(rows.begin(), rows.end());
  rows.erase(std::unique(rows.begin(), rows.end()), rows.end());
  InducedEdges edges;
  const SortedIndex& sorted = graph.sorted();
  size_t looked_at = 0;
  for (auto _ : state) {
    FindInducedEdges(graph.csc(0), &sorted, rows, rows, edges);
    looked_at += rows.size() * static_cast<size_t>(shape.degree);
  }
  Report(state, "edges/s", static_cast<double>(looked_at), shape.table_bytes());
}

// Measures edges indexed per second.
void BM_BuildIndex(benchmark::State& state, EdgeIndexKind kind, const char* column) {
  const Partition& partition = Graph::Of(kSmall).partition();
  size_t edges = 0;
  for (auto _ : state) {
    BuildEdgeIndex(partition, {kind, false, 0, column});
    edges += partition.csc(0).indices.size();
  }
  state.counters["edges/s"] =
      benchmark::Counter(static_cast<double>(edges), benchmark::Counter::kIsRate);
}

const int registered = [] {
  using M = SamplingMethod;
  const std::pair<const char*, Variant> variants[] = {
      {"uniform", {}},
      {"uniform_replace", {M::kUniform, true}},
      {"uniform_arrivals", {M::kUniform, false, true}},
      {"uniform_exclude_1000", {M::kUniform, false, false, 1000}},
      {"weighted", {M::kWeighted}},
      {"weighted_replace", {M::kWeighted, true}},
      {"weighted_arrivals", {M::kWeighted, false, true}},
      {"top_k", {M::kTopK}},
      {"temporal_uniform", {M::kTemporalUniform}},
      {"temporal_recent", {M::kTemporalRecent}},
      {"labor", {M::kLabor}},
  };
  const std::pair<const char*, Shape> shapes[] = {{"small", kSmall},
                                                  {"large", kLarge},
                                                  {"typed_small", kTypedSmall},
                                                  {"typed_large", kTypedLarge},
                                                  {"hubs", kHubs}};
  const auto add = [](const std::string& name, auto run) {
    benchmark::RegisterBenchmark(name.c_str(), run)->Unit(benchmark::kMillisecond)->MinTime(0.1);
  };
  for (const auto& [where, shape] : shapes) {
    for (const auto& [what, variant] : variants) {
      if (shape.hubs && variant.method == M::kLabor)
        continue;  // would draw 4 billion numbers in a call
      add("BM_Sample/" + std::string(where) + "/" + what,
          [shape = shape, variant = variant](benchmark::State& state) {
            BM_Sample(state, shape, variant);
          });
    }
    if (shape.etypes > 1 || shape.hubs) continue;
    const std::string suffix = "/" + std::string(where);
    add("BM_SampleOut" + suffix,
        [shape = shape](benchmark::State& state) { BM_SampleOut(state, shape); });
    add("BM_HasEdges" + suffix,
        [shape = shape](benchmark::State& state) { BM_HasEdges(state, shape); });
    add("BM_InducedEdges" + suffix,
        [shape = shape](benchmark::State& state) { BM_InducedEdges(state, shape); });
  }
  add("BM_MergeByArrival", BM_MergeByArrival);
  const std::pair<EdgeIndexKind, const char*> kinds[] = {{EdgeIndexKind::kOut, ""},
                                                         {EdgeIndexKind::kAlias, "weight"},
                                                         {EdgeIndexKind::kOrder, "weight"},
                                                         {EdgeIndexKind::kSorted, ""}};
  for (const auto& [kind, column] : kinds) {
    add(std::string("BM_BuildIndex/") + EdgeIndexKindName(kind),
        [kind = kind, column = column](benchmark::State& state) {
          BM_BuildIndex(state, kind, column);
        });
  }
  return 0;
}();

}  // namespace
}  // namespace graphd::bench
