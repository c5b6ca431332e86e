// SPDX-License-Identifier: Apache-2.0
#include "tests/unit/client/sampling_graph.h"

#include <algorithm>

#include "base/rng.h"

namespace graphd::testing {
namespace {

float W(uint64_t i) {
  constexpr float kWeights[] = {0, 1, 0.25f, 3, 2};
  return kWeights[Mix64(i + 1) % 5];
}
bool Mask(uint64_t i) { return Mix64(i + 1000) % 3 != 0; }
int64_t Time(uint64_t i) { return static_cast<int64_t>(Mix64(i + 2000) % 40) - 5; }
double When(uint64_t i) { return static_cast<double>(Mix64(i + 3000) % 40) / 4; }

}  // namespace

void AddSamplingColumns(RawGraph& graph) {
  for (RawEdges& edges : graph.edges) {
    if (edges.stored() == 0) continue;
    Tensor w = Tensor::Empty(DType::kFloat32, {edges.stored()});
    Tensor mask = Tensor::Empty(DType::kUInt8, {edges.stored()});
    Tensor time = Tensor::Empty(DType::kInt64, {edges.stored()});
    Tensor when = Tensor::Empty(DType::kFloat64, {edges.stored()});
    for (size_t i = 0; i < static_cast<size_t>(edges.stored()); i++) {
      w.as<float>()[i] = W(i);
      mask.as<uint8_t>()[i] = Mask(i) ? 2 : 0;
      time.as<int64_t>()[i] = Time(i);
      when.as<double>()[i] = When(i);
    }
    edges.features.push_back({"w", std::move(w)});
    edges.features.push_back({"mask", std::move(mask)});
    edges.features.push_back({"time", std::move(time)});
    edges.features.push_back({"when", std::move(when)});
  }
}

RawGraph SamplingGraph() {
  RawGraph graph = TypedGraph(kSamplingAuthors, kSamplingPapers, 11);
  AddSamplingColumns(graph);
  return graph;
}

std::vector<std::vector<KnownEdge>> KnownEdges(const RawGraph& raw, const DistGraph& graph) {
  const Schema& schema = raw.schema;
  std::vector<std::vector<int64_t>> new_ids;
  for (NodeTypeId t = 0; t < schema.num_ntypes(); t++) {
    const Tensor orig = graph.ndata("orig_id", t).Slice(0, graph.num_nodes(t));
    auto& ids = new_ids.emplace_back(orig.num_rows());
    for (int64_t i = 0; i < orig.num_rows(); i++) {
      ids[static_cast<size_t>(orig.as<int64_t>()[static_cast<size_t>(i)])] = i;
    }
  }
  std::vector<std::vector<KnownEdge>> known;
  for (EdgeTypeId e = 0; e < schema.num_etypes(); e++) {
    const RawEdges& edges = raw.edges[static_cast<size_t>(e)];
    const auto& src = new_ids[static_cast<size_t>(schema.src_type(e))];
    const auto& dst = new_ids[static_cast<size_t>(schema.dst_type(e))];
    std::vector<KnownEdge> by_orig;
    edges.ForEach([&](uint64_t id, uint64_t u, uint64_t v) {
      const uint64_t i = id % static_cast<uint64_t>(edges.stored());
      by_orig.push_back({0, src[u], dst[v], static_cast<double>(W(i)), Mask(i), Time(i), When(i)});
    });
    auto& of_type = known.emplace_back();
    if (by_orig.empty()) continue;
    const Tensor orig = graph.edata("orig_id", e).Slice(0, graph.num_edges(e));
    for (int64_t id : orig.as<int64_t>()) {
      KnownEdge edge = by_orig[static_cast<size_t>(id)];
      edge.id = static_cast<int64_t>(of_type.size());
      of_type.push_back(edge);
    }
  }
  return known;
}

std::vector<KnownEdge> Eligible(const std::vector<KnownEdge>& edges, const SamplingRule& rule,
                                int64_t seed, int64_t time, double when,
                                const std::vector<int64_t>& exclude) {
  std::vector<KnownEdge> eligible;
  const bool temporal = rule.method == SamplingMethod::kTemporalUniform ||
                        rule.method == SamplingMethod::kTemporalRecent;
  for (const KnownEdge& edge : edges) {
    if ((rule.direction == Direction::kIn ? edge.dst : edge.src) != seed) continue;
    if (std::find(exclude.begin(), exclude.end(), edge.id) != exclude.end()) continue;
    if (temporal) {
      const bool equal = rule.column == "time" ? edge.time == time : edge.when == when;
      const bool before = rule.column == "time" ? edge.time < time : edge.when < when;
      if (!before && !(equal && rule.inclusive)) continue;
    } else if (rule.method != SamplingMethod::kTopK) {
      if (rule.column == "w" && edge.w == 0) continue;
      if (rule.column == "mask" && !edge.mask) continue;
    }
    eligible.push_back(edge);
  }
  return eligible;
}

std::unique_ptr<ServedGraphFixture> ServedSamplingGraph::served_;
std::unique_ptr<DistGraph> ServedSamplingGraph::alone_;
std::vector<std::vector<KnownEdge>> ServedSamplingGraph::known_;

void ServedSamplingGraph::SetUpTestSuite() {
  served_ = std::make_unique<ServedGraphFixture>(SamplingGraph(),
                                                 std::vector<std::vector<int>>{{0, 2}, {1}}, 3);
  alone_ = std::make_unique<DistGraph>(Initialize(served_->StandaloneOptions()));
  known_ = KnownEdges(SamplingGraph(), *alone_);
}

void ServedSamplingGraph::TearDownTestSuite() {
  alone_.reset();
  served_.reset();
}

}  // namespace graphd::testing
