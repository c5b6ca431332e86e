// SPDX-License-Identifier: Apache-2.0
#include "client/sampling/block_maker.h"

#include <cstdint>

#include "base/index.h"
#include "base/strings.h"

namespace graphd {
namespace {

// Throws Error(kInvalid) unless the sample has in-edges of these destinations.
void CheckSample(const Schema& schema, const Neighbors& sample,
                 const std::vector<std::vector<int64_t>>& dst_nodes) {
  if (sample.etype < 0 || sample.etype >= schema.num_etypes()) {
    Throw(ErrorCode::kInvalid, "a sample's edge type ", sample.etype, " is outside 0..",
          schema.num_etypes() - 1);
  }
  const std::string name = schema.etype(sample.etype).ToString();
  if (sample.direction != Direction::kIn) {
    Throw(ErrorCode::kInvalid, "sample of edge type ", name,
          " has out-edges; blocks are made of in-edges");
  }
  const size_t dst_count = dst_nodes[Index(schema.dst_type(sample.etype))].size();
  if (sample.indptr.size() != dst_count + 1) {
    Throw(ErrorCode::kInvalid, "sample of edge type ", name, " has ", sample.indptr.size(),
          " offsets, expected ", dst_count + 1, " for ", dst_count, " seeds");
  }
  const auto edges = static_cast<int64_t>(sample.neighbors.size());
  if (sample.indptr.front() != 0 || sample.indptr.back() != edges) {
    Throw(ErrorCode::kInvalid, "sample of edge type ", name, " has ", edges,
          " neighbours, its offsets run from ", sample.indptr.front(), " to ",
          sample.indptr.back());
  }
}

}  // namespace

Block MakeBlock(const Schema& schema, std::vector<std::vector<int64_t>> dst_nodes,
                std::vector<Neighbors> samples, const RelabelTables& table) {
  if (dst_nodes.size() != Index(schema.num_ntypes())) {
    Throw(ErrorCode::kInvalid, "destinations of ", dst_nodes.size(), " node types, the graph has ",
          schema.num_ntypes());
  }
  Block block;
  std::vector<size_t> sampled(dst_nodes.size());
  for (const Neighbors& sample : samples) {
    CheckSample(schema, sample, dst_nodes);
    sampled[Index(schema.src_type(sample.etype))] += sample.neighbors.size();
  }
  for (NodeTypeId t = 0; t < schema.num_ntypes(); t++) {
    const std::vector<int64_t>& dst = dst_nodes[Index(t)];
    std::vector<int64_t> nodes;
    nodes.reserve(dst.size() + sampled[Index(t)] / 2);
    if (dst.size() + sampled[Index(t)] > 0) {
      table(t).Start(dst.size() + sampled[Index(t)]);
      if (table(t).Add(dst, nodes, nullptr) != dst.size()) {
        Throw(ErrorCode::kInvalid, "destinations of node type '", schema.ntype(t),
              "' hold duplicates");
      }
    }
    block.num_dst.push_back(static_cast<int64_t>(dst.size()));
    block.src_nodes.push_back(std::move(nodes));
  }
  for (Neighbors& sample : samples) {
    const NodeTypeId src = schema.src_type(sample.etype);
    BlockEdges edges;
    edges.etype = sample.etype;
    edges.indices.resize(sample.neighbors.size());
    if (!sample.neighbors.empty()) {
      table(src).Add(sample.neighbors, block.src_nodes[Index(src)], edges.indices.data());
    }
    edges.indptr = std::move(sample.indptr);
    edges.edge_ids = std::move(sample.edge_ids);
    block.edges.push_back(std::move(edges));
  }
  return block;
}

std::vector<std::vector<int64_t>> UniqueSeeds(const DistGraph& graph,
                                              const std::vector<std::vector<int64_t>>& seeds,
                                              const RelabelTables& table) {
  const Schema& schema = graph.schema();
  if (seeds.size() > Index(schema.num_ntypes())) {
    Throw(ErrorCode::kInvalid, "seeds of ", seeds.size(), " node types, the graph has ",
          schema.num_ntypes());
  }
  std::vector<std::vector<int64_t>> unique(Index(schema.num_ntypes()));
  for (NodeTypeId t = 0; Index(t) < seeds.size(); t++) {
    const int64_t count = graph.num_nodes(t);
    for (int64_t id : seeds[Index(t)]) {
      if (id < 0 || id >= count) {
        Throw(ErrorCode::kInvalid, "seed ", id, " of node type '", schema.ntype(t),
              "' is outside 0..", count - 1);
      }
    }
    if (seeds[Index(t)].empty()) continue;
    table(t).Start(seeds[Index(t)].size());
    table(t).Add(seeds[Index(t)], unique[Index(t)], nullptr);
  }
  return unique;
}

int64_t Block::num_edges() const noexcept {
  int64_t sum = 0;
  for (const BlockEdges& of_type : edges) sum += static_cast<int64_t>(of_type.indices.size());
  return sum;
}

Block ToBlock(const Schema& schema, std::vector<std::vector<int64_t>> dst_nodes,
              std::vector<Neighbors> samples) {
  // ToBlock has no graph, so the number of ids is unknown and the tables use hashing.
  std::vector<RelabelTable> tables;
  for (NodeTypeId t = 0; t < schema.num_ntypes(); t++) tables.emplace_back(INT64_MAX, 0);
  return MakeBlock(schema, std::move(dst_nodes), std::move(samples),
                   [&](NodeTypeId t) -> RelabelTable& { return tables[Index(t)]; });
}

}  // namespace graphd
