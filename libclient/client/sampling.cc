// SPDX-License-Identifier: Apache-2.0
#include "graphd/sampling.h"

#include "base/strings.h"
#include "client/graph_access.h"

namespace graphd {
namespace {

size_t Index(int32_t i) { return static_cast<size_t>(i); }

// to_block with the caller's tables, one per node type.
Block MakeBlock(const Schema& schema, std::vector<std::vector<int64_t>> dst_nodes,
                std::vector<Neighbors> samples,
                const std::function<RelabelTable&(NodeTypeId)>& table) {
  if (dst_nodes.size() != Index(schema.num_ntypes())) {
    Throw(ErrorCode::kInvalid, "destinations of ", dst_nodes.size(), " node types, the graph has ",
          schema.num_ntypes());
  }
  Block block;
  size_t sampled = 0;
  for (const Neighbors& sample : samples) sampled += sample.neighbors.size();
  for (NodeTypeId t = 0; t < schema.num_ntypes(); t++) {
    const std::vector<int64_t>& dst = dst_nodes[Index(t)];
    std::vector<int64_t> nodes;
    nodes.reserve(dst.size() + sampled / 2);
    table(t).Start(dst.size() + sampled);
    if (table(t).Add(dst, nodes, nullptr) != dst.size()) {
      Throw(ErrorCode::kInvalid, "destinations of node type '", schema.ntype(t),
            "' hold duplicates");
    }
    block.num_dst.push_back(static_cast<int64_t>(dst.size()));
    block.src_nodes.push_back(std::move(nodes));
  }
  for (Neighbors& sample : samples) {
    const size_t dst_count = dst_nodes[Index(schema.dst_type(sample.etype))].size();
    if (sample.indptr.size() != dst_count + 1) {
      Throw(ErrorCode::kInvalid, "sample of edge type ", schema.etype(sample.etype).ToString(),
            " has ", sample.indptr.size() - 1, " seeds, expected ", dst_count);
    }
    const NodeTypeId src = schema.src_type(sample.etype);
    BlockEdges edges;
    edges.etype = sample.etype;
    edges.indices.resize(sample.neighbors.size());
    table(src).Add(sample.neighbors, block.src_nodes[Index(src)], edges.indices.data());
    edges.indptr = std::move(sample.indptr);
    edges.edge_ids = std::move(sample.edge_ids);
    block.edges.push_back(std::move(edges));
  }
  return block;
}

}  // namespace

int64_t Block::num_edges() const noexcept {
  int64_t sum = 0;
  for (const BlockEdges& of_type : edges) sum += static_cast<int64_t>(of_type.indices.size());
  return sum;
}

Neighbors SampleNeighbors(const DistGraph& graph, std::span<const int64_t> seeds,
                          const SampleOptions& options, EdgeTypeId etype) {
  Neighbors neighbors;
  graph.access()->Sample(etype, seeds, options, neighbors);
  return neighbors;
}

Block ToBlock(const Schema& schema, std::vector<std::vector<int64_t>> dst_nodes,
              std::vector<Neighbors> samples) {
  // Without a graph the number of ids is unknown: hashed tables.
  std::vector<RelabelTable> tables;
  for (NodeTypeId t = 0; t < schema.num_ntypes(); t++) tables.emplace_back(1, 0);
  return MakeBlock(schema, std::move(dst_nodes), std::move(samples),
                   [&](NodeTypeId t) -> RelabelTable& { return tables[Index(t)]; });
}

NeighborSampler::NeighborSampler(std::vector<int> fanouts, bool replace, bool edge_ids)
    : fanouts_(std::move(fanouts)), replace_(replace), edge_ids_(edge_ids) {
  for (int fanout : fanouts_) {
    if (fanout < kAllNeighbors) {
      Throw(ErrorCode::kInvalid, "fanout ", fanout, ": use -1 for all, or 0 and more");
    }
  }
}

MiniBatch NeighborSampler::Sample(const DistGraph& graph, std::vector<std::vector<int64_t>> seeds,
                                  uint64_t seed) const {
  const Schema& schema = graph.schema();
  GraphAccess& access = *graph.access();
  seeds.resize(Index(schema.num_ntypes()));
  GraphAccess::Loan loan(access);
  const auto table = [&](NodeTypeId t) -> RelabelTable& { return access.relabel(*loan, t); };
  MiniBatch batch;
  for (NodeTypeId t = 0; t < schema.num_ntypes(); t++) {
    const int64_t count = graph.num_nodes(t);
    for (int64_t id : seeds[Index(t)]) {
      if (id < 0 || id >= count) {
        Throw(ErrorCode::kInvalid, "seed ", id, " of node type '", schema.ntype(t),
              "' is outside 0..", count - 1);
      }
    }
    std::vector<int64_t> unique;
    table(t).Start(seeds[Index(t)].size());
    table(t).Add(seeds[Index(t)], unique, nullptr);
    batch.seeds.push_back(std::move(unique));
  }
  batch.blocks.resize(fanouts_.size());
  for (size_t l = fanouts_.size(); l-- > 0;) {
    auto frontier = l + 1 == fanouts_.size() ? batch.seeds : batch.blocks[l + 1].src_nodes;
    std::vector<Neighbors> samples(Index(schema.num_etypes()));
    for (EdgeTypeId e = 0; e < schema.num_etypes(); e++) {
      const SampleOptions options{fanouts_[l], replace_, seed, static_cast<uint32_t>(l), edge_ids_};
      access.Sample(e, frontier[Index(schema.dst_type(e))], options, samples[Index(e)]);
    }
    batch.blocks[l] = MakeBlock(schema, std::move(frontier), std::move(samples), table);
  }
  return batch;
}

}  // namespace graphd
