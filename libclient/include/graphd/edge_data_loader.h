// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <cstdint>
#include <memory>
#include <optional>
#include <utility>
#include <vector>

#include "graphd/data_loader.h"
#include "graphd/export.h"
#include "graphd/negative.h"

namespace GRAPHD_EXPORT graphd {

// Which edges a batch must not see when it samples: a link predictor that finds its answer among
// the neighbours learns nothing. DGL names in quotes.
enum class ExcludeEdges {
  kNone,
  kSelf,          // "self": the batch's own edges
  kReverseId,     // "reverse_id": those, and EdgeLoaderOptions::reverse_eids of them
  kReverseTypes,  // "reverse_types": those, and the edges of the reverse type between the same two
                  // nodes the other way round, all of them. (DGL takes those with the same id,
                  // which partitioning changes.) An edge type may be its own reverse.
};

struct EdgeLoaderOptions {
  ExcludeEdges exclude = ExcludeEdges::kNone;
  std::vector<std::vector<int64_t>> reverse_eids = {};  // [etype][edge]: its reverse, same type
  std::vector<std::pair<EdgeTypeId, EdgeTypeId>> reverse_etypes = {};  // type, its reverse type
  std::shared_ptr<const NegativeSampler> negative_sampler = nullptr;   // none: no negative edges
  std::vector<EdgeFeature> seed_edge_features = {};                    // of the batch's own edges
  // Sample blocks from this graph instead, which has the same nodes; nothing is excluded then. The
  // features of input nodes, seeds and sampled edges are its own, those of the batch's edges are
  // not.
  std::optional<DistGraph> g_sampling = std::nullopt;
};

// Edges between nodes of a batch. Matches DGL's pair_graph.
struct PairEdges {
  std::vector<int64_t> src, dst;  // positions in the batch's seeds of the types
  std::vector<int64_t> edge_ids;  // type-wise; empty for negative edges
};

// `seeds` are the ends of all its edges, positive and negative, without duplicates; the blocks are
// sampled for them. With LoaderOptions' times the ends of an edge ask at its time (those of
// negative edge j of n at that of positive edge floor(j * m / n) of the m of its type, which of
// PerSourceUniform is its own), and a node is a seed for each time at which it asks.
struct EdgeBatch : NodeBatch {
  std::vector<PairEdges> positive;         // [etype] in the order of the batch's edges
  std::vector<PairEdges> negative;         // [etype] as the negative sampler orders them
  std::vector<Tensor> seed_edge_features;  // as asked for, in the order of positive's edges
};

// Iterates over mini-batches of edges. Matches dgl.distributed.DistEdgeDataLoader(g, eids,
// graph_sampler, exclude=, reverse_eids=, reverse_etypes=, negative_sampler=, g_sampling=): its
// (input_nodes, pair_graph, neg_pair_graph, blocks) are batch.input_nodes(t), positive, negative,
// blocks. Excluding works with every sampler and needs no --graph_format. Everything else is as in
// DistNodeDataLoader.
class DistEdgeDataLoader {
 public:
  // Edges of one type. All constructors throw Error(kInvalid) on options or edges out of range, on
  // kReverseId without ids for every edge type with seeds, on kReverseTypes without reverse types
  // or with types whose ends don't fit, on g_sampling with other node types or numbers of nodes;
  // Error(kNotFound) on unknown features.
  DistEdgeDataLoader(DistGraph graph, std::vector<int64_t> eids, EdgeTypeId etype,
                     AnySampler sampler, LoaderOptions options = {}, EdgeLoaderOptions edges = {});
  // Edges of several types: eids[e] are those of edge type e, one list per type of the graph.
  DistEdgeDataLoader(DistGraph graph, std::vector<std::vector<int64_t>> eids, AnySampler sampler,
                     LoaderOptions options = {}, EdgeLoaderOptions edges = {});
  ~DistEdgeDataLoader();
  DistEdgeDataLoader(DistEdgeDataLoader&&) noexcept;

  int64_t num_batches() const noexcept;
  void StartEpoch(int64_t epoch);
  // As DistNodeDataLoader::Next. Throws also Error(kInvalid) if the negative sampler gives nodes
  // out of range, or sources and destinations of different number.
  std::optional<EdgeBatch> Next();

 private:
  struct Impl;
  std::unique_ptr<Impl> impl_;
};

}  // namespace graphd
