// SPDX-License-Identifier: Apache-2.0
#include "raw_graph_samples.h"

#include <span>

#include "base/rng.h"

namespace graphd::testing {
namespace {

RawEdges MakeEdges(const EdgeList& edges) {
  TensorBuilder src(DType::kUInt32), dst(DType::kUInt32), weight(DType::kFloat32);
  for (const auto& [u, v] : edges) {
    weight.Append(WeightValue(src.num_elements()));
    src.Append(u);
    dst.Append(v);
  }
  const auto count = static_cast<int64_t>(edges.size());
  RawEdges raw;
  raw.src = std::move(src).Finish({count});
  raw.dst = std::move(dst).Finish({count});
  raw.features.push_back({"weight", std::move(weight).Finish({count})});
  return raw;
}

RawNodes MakeNodes(int64_t count) {
  TensorBuilder feat(DType::kFloat32), label(DType::kInt64);
  for (uint64_t i = 0; i < static_cast<uint64_t>(count); i++) {
    for (uint64_t c = 0; c < 3; c++) feat.Append(FeatValue(i, c));
    label.Append(static_cast<int64_t>(i % 7));
  }
  RawNodes nodes;
  nodes.count = count;
  nodes.features.push_back({"feat", std::move(feat).Finish({count, 3})});
  nodes.features.push_back({"label", std::move(label).Finish({count})});
  return nodes;
}

EdgeList RandomEdges(uint64_t sources, uint64_t destinations, int64_t edges, uint64_t seed) {
  CounterRng rng(seed);
  EdgeList list;
  for (int64_t i = 0; i < edges; i++) {
    const auto u = static_cast<uint32_t>(rng.Below(sources));
    list.emplace_back(u, static_cast<uint32_t>(rng.Below(destinations)));
  }
  return list;
}

}  // namespace

float FeatValue(uint64_t node, uint64_t column) {
  return static_cast<float>(node) + 0.25f * static_cast<float>(column);
}

float WeightValue(uint64_t stored_edge) { return 0.5f * static_cast<float>(stored_edge) + 1; }

RawGraph HomogeneousGraph(int64_t nodes, const EdgeList& edges, bool add_reverse) {
  RawGraph graph;
  graph.schema = Schema::Homogeneous();
  graph.nodes.push_back(MakeNodes(nodes));
  graph.edges.push_back(MakeEdges(edges));
  graph.edges[0].add_reverse = add_reverse;
  return graph;
}

EdgeList RandomMultigraph(int64_t nodes, int64_t edges, uint64_t seed) {
  const auto ends = static_cast<uint64_t>(nodes - nodes / 3);
  EdgeList list = RandomEdges(ends, ends, edges, seed);
  for (size_t i = 0; i < list.size(); i += 10) list[i].second = list[i].first;
  for (size_t i = 1; i < list.size(); i += 10) list[i] = list[i / 2];
  return list;
}

RawGraph ClusteredGraph(uint32_t clusters, uint32_t size, uint64_t seed) {
  CounterRng rng(seed);
  const uint32_t nodes = clusters * size;
  EdgeList edges;
  for (uint32_t u = 0; u < nodes; u++) {
    for (int i = 0; i < 8; i++) {
      const auto draw = static_cast<uint32_t>(rng.Below(nodes));
      edges.emplace_back(u, rng.Below(10) ? draw - draw % clusters + u % clusters : draw);
    }
  }
  return HomogeneousGraph(nodes, edges);
}

RawGraph TypedGraph(int64_t authors, int64_t papers, uint64_t seed) {
  const auto a = static_cast<uint64_t>(authors), p = static_cast<uint64_t>(papers);
  RawGraph graph;
  graph.schema = Schema({"author", "paper"}, {{"author", "advises", "author"},
                                              {"author", "writes", "paper"},
                                              {"paper", "cites", "paper"},
                                              {"paper", "rev_writes", "author"}});
  graph.nodes.push_back(MakeNodes(authors));
  graph.nodes.push_back(MakeNodes(papers));
  graph.edges.push_back(MakeEdges({}));
  graph.edges.push_back(MakeEdges(RandomEdges(a, p, 3 * authors, seed)));
  graph.edges.push_back(MakeEdges(RandomEdges(p, p, 4 * papers, seed + 1)));
  graph.edges.push_back(MakeEdges(RandomEdges(p, a, 2 * authors, seed + 2)));
  graph.edges[2].add_reverse = true;
  return graph;
}

}  // namespace graphd::testing
