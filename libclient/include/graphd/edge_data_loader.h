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

// The edges that are hidden from the sampler of a batch, so that a link predictor does not find the
// answer among the neighbours. DGL's name of each value is given in quotes.
enum class ExcludeEdges {
  kNone,          // None: no edges
  kSelf,          // "self": the batch's own edges
  kReverseId,     // "reverse_id": the batch's edges and their reverse edges, given by
                  // EdgeLoaderOptions::reverse_eids
  kReverseTypes,  // "reverse_types": the batch's edges and all edges of the reverse type between
                  // the same two nodes in the other direction. (DGL takes the edges of the reverse
                  // type with the same ids, but partitioning changes ids.) An edge type may be
                  // its own reverse.
};

// The settings of a DistEdgeDataLoader beyond LoaderOptions.
struct EdgeLoaderOptions {
  ExcludeEdges exclude = ExcludeEdges::kNone;
  // [etype][edge] the type-wise id of the edge's reverse edge, which is of the same type.
  std::vector<std::vector<int64_t>> reverse_eids = {};
  // Pairs of an edge type and its reverse type.
  std::vector<std::pair<EdgeTypeId, EdgeTypeId>> reverse_etypes = {};
  // Null: no negative edges.
  std::shared_ptr<const NegativeSampler> negative_sampler = nullptr;
  // Features of the positive edges of each batch.
  std::vector<EdgeFeature> seed_edge_features = {};
  // A graph with the same nodes, from which blocks are sampled instead of the loader's graph. If it
  // is given, no edges are excluded. Features of input nodes, seeds and sampled edges are read from
  // it, features of the batch's edges from the loader's graph.
  std::optional<DistGraph> g_sampling = std::nullopt;
};

// The edges of one type between the seeds of a batch. Matches DGL's pair_graph.
struct PairEdges {
  // Positions in the seeds of the source type and of the destination type.
  std::vector<int64_t> src, dst;
  std::vector<int64_t> edge_ids;  // type-wise ids; empty for negative edges
};

// A mini-batch of edges. `seeds` are the endpoints of all positive and negative edges, without
// duplicates, and the blocks are sampled for them.
//
// With times in LoaderOptions, the query time of both endpoints is the time of their edge, and a
// node is a seed once for each of its times. With n negative and m positive edges of a type,
// negative edge j has the time of positive edge floor(j * m / n); with PerSourceUniform this is the
// positive edge for which it was made.
struct EdgeBatch : NodeBatch {
  std::vector<PairEdges> positive;  // [etype] in the order of the batch's edges
  std::vector<PairEdges> negative;  // [etype] in the order of the negative sampler
  // [i] rows of options.seed_edge_features[i], in the order of `positive`.
  std::vector<Tensor> seed_edge_features;
};

// Iterates over mini-batches of edges. Matches dgl.distributed.DistEdgeDataLoader(g, eids,
// graph_sampler, exclude=, reverse_eids=, reverse_etypes=, negative_sampler=, g_sampling=). DGL's
// (input_nodes, pair_graph, neg_pair_graph, blocks) are batch.input_nodes(t), batch.positive,
// batch.negative and batch.blocks. Edges can be excluded with every sampler and every
// --graph_format. For all else, thread-safety included, see DistNodeDataLoader.
class DistEdgeDataLoader {
 public:
  // Iterates over edges of one type, given as type-wise ids. All constructors throw
  // Error(kNotFound) on an unknown feature, and Error(kInvalid)
  // - on options or edges out of range,
  // - on kReverseId without reverse ids for every edge type that has seeds,
  // - on kReverseTypes without reverse types, or with a pair of types whose endpoints do not fit,
  // - on a g_sampling with other node types or numbers of nodes.
  DistEdgeDataLoader(DistGraph graph, std::vector<int64_t> eids, EdgeTypeId etype,
                     AnySampler sampler, LoaderOptions options = {}, EdgeLoaderOptions edges = {});
  // Iterates over edges of several types: eids[e] are the type-wise ids of edge type e, one list
  // per edge type of the graph.
  DistEdgeDataLoader(DistGraph graph, std::vector<std::vector<int64_t>> eids, AnySampler sampler,
                     LoaderOptions options = {}, EdgeLoaderOptions edges = {});
  // Stops the workers.
  ~DistEdgeDataLoader();
  DistEdgeDataLoader(DistEdgeDataLoader&&) noexcept;

  // Returns the number of batches of an epoch.
  int64_t num_batches() const noexcept;
  // Starts an epoch, as DistNodeDataLoader::StartEpoch does.
  void StartEpoch(int64_t epoch);
  // Returns the next batch, as DistNodeDataLoader::Next does. Throws also Error(kInvalid) if the
  // negative sampler returns nodes out of range, or different numbers of sources and destinations.
  std::optional<EdgeBatch> Next();

 private:
  struct Impl;
  std::unique_ptr<Impl> impl_;
};

}  // namespace graphd
