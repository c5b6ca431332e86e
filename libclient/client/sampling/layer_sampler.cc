// SPDX-License-Identifier: Apache-2.0
#include "graphd/layer_sampler.h"

#include <algorithm>
#include <cmath>
#include <limits>

#include "base/index.h"
#include "base/rng.h"
#include "base/strings.h"
#include "client/sampling/block_maker.h"
#include "client/sampling/feature_rows.h"
#include "client/sampling/rules_by_edge_type.h"
#include "sampling/arrival_key.h"
#include "sampling/sample_key.h"

namespace graphd {
namespace {

// Separates the random numbers that choose the nodes of a layer from other uses of its key.
constexpr uint64_t kDraw = 0x6c6179657273ULL;

// Returns the entries of the adjacency matrix, one per edge of `edges`.
std::vector<double> Entries(GraphAccess& access, const BlockEdges& edges,
                            const std::string& column) {
  std::vector<double> entries(edges.indices.size());
  if (column.empty()) {
    for (size_t v = 0; v + 1 < edges.indptr.size(); v++) {
      const auto degree = static_cast<double>(edges.indptr[v + 1] - edges.indptr[v]);
      for (size_t k = Index(edges.indptr[v]); k < Index(edges.indptr[v + 1]); k++) {
        entries[k] = 1 / degree;
      }
    }
    return entries;
  }
  const FeatureRef ref(edges.etype, column);
  const FeatureInfo& info = access.feature(ref);
  Tensor values = access.NewTensor(info.dtype, {static_cast<int64_t>(entries.size())});
  access.Gather(ref, edges.edge_ids, {values.data(), values.num_bytes()});
  for (size_t k = 0; k < entries.size(); k++) {
    switch (info.dtype) {
      case DType::kFloat32:
        entries[k] = static_cast<double>(values.as<float>()[k]);
        break;
      case DType::kFloat64:
        entries[k] = values.as<double>()[k];
        break;
      default:  // a mask; edges with 0 were not sampled
        entries[k] = 1;
    }
  }
  return entries;
}

// Divides all entries by the largest one, so that their squares neither overflow nor underflow to
// 0.
void Scale(std::vector<std::vector<double>>& entries) {
  double largest = 0;
  for (const auto& of_type : entries) {
    for (double entry : of_type) largest = std::max(largest, entry);
  }
  for (auto& of_type : entries) {
    for (double& entry : of_type) entry /= largest;
  }
}

// Adds the squared entries of each source's column to `norms`; parallel edges form one entry. The
// result is positive for every source that has an edge.
void AddColumnNorms(const BlockEdges& edges, std::span<const double> entries,
                    std::span<double> norms) {
  struct Sum {
    size_t row = SIZE_MAX;
    double entry = 0;
  };
  std::vector<Sum> sums(norms.size());
  for (size_t v = 0; v + 1 < edges.indptr.size(); v++) {
    for (size_t k = Index(edges.indptr[v]); k < Index(edges.indptr[v + 1]); k++) {
      Sum& sum = sums[Index(edges.indices[k])];
      double& norm = norms[Index(edges.indices[k])];
      if (sum.row != v) sum = {v, 0};
      norm -= sum.entry * sum.entry;
      sum.entry += entries[k];
      norm = std::max(norm + sum.entry * sum.entry, std::numeric_limits<double>::min());
    }
  }
}

// Returns the inclusion probability of each source of a type, given the first arrival time that is
// not chosen; 0 for sources that are not chosen. The first `num_dst` sources are always included.
std::vector<double> DrawSources(std::span<const double> norms, const std::vector<int64_t>& nodes,
                                int64_t num_dst, int fanout, uint64_t key) {
  struct Arrival {
    double time;
    size_t at;
    bool operator<(const Arrival& o) const { return time != o.time ? time < o.time : at < o.at; }
  };
  std::vector<Arrival> arrivals;
  for (size_t u = 0; u < nodes.size(); u++) {
    if (norms[u] <= 0) continue;
    const uint64_t bits = CombineKeys(key, static_cast<uint64_t>(nodes[u]));
    arrivals.push_back({Exponential(bits) / norms[u], u});
  }
  const size_t wanted = fanout < 0 ? arrivals.size() : Index(fanout);
  double end = HUGE_VAL;
  if (wanted < arrivals.size()) {
    const auto late = arrivals.begin() + static_cast<ptrdiff_t>(wanted);
    std::nth_element(arrivals.begin(), late, arrivals.end());
    end = late->time;
    arrivals.resize(wanted);
  }
  std::vector<double> chances(nodes.size(), 0);
  for (const Arrival& arrival : arrivals) {
    chances[arrival.at] = -std::expm1(-norms[arrival.at] * end);
  }
  std::fill_n(chances.begin(), num_dst, 1.0);
  return chances;
}

// Does the same for all node types.
std::vector<std::vector<double>> DrawAll(const Schema& schema, const Block& all,
                                         const std::vector<std::vector<double>>& entries,
                                         const std::vector<int>& fanouts, uint64_t seed,
                                         uint32_t layer) {
  std::vector<std::vector<double>> norms, chances;
  for (const auto& nodes : all.src_nodes) norms.emplace_back(nodes.size(), 0.0);
  for (size_t e = 0; e < all.edges.size(); e++) {
    AddColumnNorms(all.edges[e], entries[e], norms[Index(schema.src_type(all.edges[e].etype))]);
  }
  for (NodeTypeId t = 0; t < schema.num_ntypes(); t++) {
    const uint64_t key = CombineKeys(SampleKey(seed, layer, t), kDraw);
    chances.push_back(DrawSources(norms[Index(t)], all.src_nodes[Index(t)], all.num_dst[Index(t)],
                                  fanouts[Index(t)], key));
  }
  return chances;
}

// Returns the edges whose source has a chance above 0, with their weights. `places` has the new
// local ids of these sources.
BlockEdges KeepEdges(const BlockEdges& all, std::span<const double> entries,
                     std::span<const double> chances, std::span<const int32_t> places,
                     bool edge_ids) {
  BlockEdges kept;
  kept.etype = all.etype;
  kept.indptr.assign(1, 0);
  std::vector<double> row;
  for (size_t v = 0; v + 1 < all.indptr.size(); v++) {
    row.clear();
    double sum = 0;
    for (size_t k = Index(all.indptr[v]); k < Index(all.indptr[v + 1]); k++) {
      const size_t u = Index(all.indices[k]);
      if (chances[u] <= 0) continue;
      row.push_back(entries[k] / chances[u]);
      sum += row.back();
      kept.indices.push_back(places[u]);
      if (edge_ids) kept.edge_ids.push_back(all.edge_ids[k]);
    }
    for (double weight : row) kept.weights.push_back(static_cast<float>(weight / sum));
    kept.indptr.push_back(static_cast<int64_t>(kept.indices.size()));
  }
  return kept;
}

// Reduces a block of all in-edges to the sources with `chances` above 0, which are those that were
// drawn.
Block Thin(Block all, const std::vector<std::vector<double>>& entries,
           const std::vector<std::vector<double>>& chances, const Schema& schema, bool edge_ids) {
  std::vector<std::vector<int32_t>> places(all.src_nodes.size());
  for (size_t t = 0; t < places.size(); t++) {
    std::vector<int64_t> sources;
    for (size_t u = 0; u < all.src_nodes[t].size(); u++) {
      places[t].push_back(static_cast<int32_t>(sources.size()));
      if (chances[t][u] > 0) sources.push_back(all.src_nodes[t][u]);
    }
    all.src_nodes[t] = std::move(sources);
  }
  for (size_t e = 0; e < all.edges.size(); e++) {
    const auto src = Index(schema.src_type(all.edges[e].etype));
    all.edges[e] = KeepEdges(all.edges[e], entries[e], chances[src], places[src], edge_ids);
  }
  return all;
}

}  // namespace

LayerSampler::LayerSampler(const std::vector<int>& fanouts, LayerOptions options)
    : fanouts_(fanouts), options_(std::move(options)) {}

LayerSampler::LayerSampler(LayerFanouts fanouts, LayerOptions options)
    : fanouts_(std::move(fanouts)), options_(std::move(options)) {}

MiniBatch LayerSampler::Sample(const DistGraph& graph, BatchRequest request) const {
  GraphAccess& access = *graph.access();
  const Schema& schema = graph.schema();
  GraphAccess::Loan loan(access);
  const auto table = [&](NodeTypeId t) -> RelabelTable& { return access.relabel(*loan, t); };
  SamplingRule how;  // all edges with a weight above 0
  how.method = MethodFor(options_.column);
  how.column = options_.column;
  const auto rules = RulesByEdgeType(graph, LayerFanouts(std::vector<int>{kAllNeighbors}), 0, how);
  const bool needs_ids = options_.edge_ids || !options_.column.empty();
  MiniBatch batch;
  batch.seeds = UniqueSeeds(graph, request.seeds, table);
  batch.blocks.resize(num_layers());
  FeatureRows rows(access, request.input_features, request.seed_features);
  for (size_t l = num_layers(); l-- > 0;) {
    const std::vector<int> fanouts = fanouts_.OfTypes(l, schema.num_ntypes());
    auto frontier = l + 1 == num_layers() ? batch.seeds : batch.blocks[l + 1].src_nodes;
    std::vector<HopSeeds> seeds(frontier.size());
    for (size_t t = 0; t < frontier.size(); t++) seeds[t].ids = frontier[t];
    const auto layer = static_cast<uint32_t>(l);
    auto samples = access.Hop(seeds, rules, {request.seed, layer, needs_ids, request.exclude},
                              rows.With(frontier));
    Block all = MakeBlock(schema, std::move(frontier), std::move(samples), table);
    std::vector<std::vector<double>> entries;  // [etype]
    for (size_t e = 0; e < all.edges.size(); e++) {
      entries.push_back(Entries(access, all.edges[e], rules[e].column));
    }
    Scale(entries);
    const auto chances = DrawAll(schema, all, entries, fanouts, request.seed, layer);
    batch.blocks[l] = Thin(std::move(all), entries, chances, schema, options_.edge_ids);
  }
  rows.Finish(batch);
  return batch;
}

}  // namespace graphd
