// SPDX-License-Identifier: Apache-2.0
// Measures whole mini-batches of every sampler of blocks, with relabelling, on one core in
// standalone mode: edges per second, and the ratio to one random memory access per edge.
#include <benchmark/benchmark.h>

#include "bench/support/bench_graph.h"
#include "bench/support/report.h"
#include "graphd/layer_sampler.h"
#include "graphd/samplers.h"
#include "graphd/shadow_sampler.h"
#include "graphd/temporal_sampler.h"

namespace graphd::bench {
namespace {

struct Variant {
  const char* name;
  AnySampler sampler;
  size_t seeds = 1000;
  // Whether the sampler reads every in-edge of the destinations. Then all of these are counted, and
  // the counter "kept" is the share of them in the batch. Other samplers read, and count, only the
  // edges that they sample.
  bool looks_at_all = false;
};

// Returns all samplers. Homogeneous batches are those of DGL's GraphSAGE example; typed ones have
// about as many edges, because eight edge types end in a node.
std::vector<Variant> Variants(const Shape& shape) {
  const std::vector<int> fanouts = shape.etypes == 1 ? std::vector{10, 25} : std::vector{1, 3};
  return {
      {"uniform", NeighborSampler(fanouts)},
      {"weighted",
       NeighborSampler(fanouts, {.method = SamplingMethod::kWeighted, .column = "weight"})},
      {"labor", LaborSampler(fanouts)},
      {"labor_weighted", LaborSampler(fanouts, {.column = "weight"})},
      {"temporal_recent", TemporalSampler(fanouts, {.column = "weight"})},
      {"temporal_uniform", TemporalSampler(fanouts, {.column = "weight", .recent = false})},
      {"ladies", LayerSampler({512, 512}), 1000, true},
      {"ladies_weighted", LayerSampler({512, 512}, {.column = "weight"}), 1000, true},
      {"shadow", ShadowSampler(fanouts), 100, true},
  };
}

void BM_MiniBatch(benchmark::State& state, const Shape& shape, const Variant& variant) {
  const DistGraph& graph = LocalGraph(shape);
  const size_t of_type = variant.seeds / static_cast<size_t>(shape.ntypes);
  BatchRequest request;
  request.seeds.resize(static_cast<size_t>(shape.ntypes));
  // About two thirds of the edges are earlier than the seeds.
  request.seed_times.assign(request.seeds.size(), std::vector<int64_t>(of_type, 8));
  double looked_at = 0, kept = 0;
  const auto sample = [&] {
    request.seed++;
    for (size_t t = 0; t < request.seeds.size(); t++) {
      request.seeds[t] = RandomIds(of_type, shape.nodes, request.seed + (t << 32));
    }
    const MiniBatch batch = variant.sampler->Sample(graph, request);
    for (const Block& block : batch.blocks) {
      kept += static_cast<double>(block.num_edges());
      for (const BlockEdges& edges : block.edges) {
        const size_t rows = edges.indptr.size() - 1;
        looked_at += static_cast<double>(
            variant.looks_at_all ? rows * static_cast<size_t>(shape.degree) : edges.indices.size());
      }
    }
  };
  sample();  // builds the indexes
  looked_at = kept = 0;
  for (auto _ : state) sample();
  Report(state, "edges/s", looked_at, shape.table_bytes());
  state.counters["kept"] = kept / looked_at;
}

const int registered = [] {
  const std::pair<const char*, Shape> shapes[] = {{"small", kSmall},
                                                  {"large", kLarge},
                                                  {"typed_small", kTypedSmall},
                                                  {"typed_large", kTypedLarge}};
  for (const auto& [where, shape] : shapes) {
    for (const Variant& variant : Variants(shape)) {
      const std::string name = "BM_MiniBatch/" + std::string(where) + "/" + variant.name;
      benchmark::RegisterBenchmark(name.c_str(), [=, shape = shape](benchmark::State& state) {
        BM_MiniBatch(state, shape, variant);
      })->Unit(benchmark::kMillisecond);
    }
  }
  return 0;
}();

}  // namespace
}  // namespace graphd::bench
