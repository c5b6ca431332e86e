// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "graphd/dist_data_loader.h"
#include "graphd/dist_graph.h"
#include "graphd/export.h"
#include "graphd/samplers.h"

namespace GRAPHD_EXPORT graphd {

inline constexpr NodeTypeId kTypeOfOptions = -1;

// Features that a loader fetches with each batch: a name, or {type, name}.
struct NodeFeature {
  NodeFeature(const char* feature) : name(feature) {}
  NodeFeature(std::string feature) : name(std::move(feature)) {}
  NodeFeature(NodeTypeId type, std::string feature) : ntype(type), name(std::move(feature)) {}
  NodeTypeId ntype = kTypeOfOptions;  // LoaderOptions::ntype
  std::string name;
};
struct EdgeFeature {
  EdgeFeature(const char* feature) : name(feature) {}
  EdgeFeature(std::string feature) : name(std::move(feature)) {}
  EdgeFeature(EdgeTypeId type, std::string feature) : etype(type), name(std::move(feature)) {}
  EdgeTypeId etype = 0;
  std::string name;
};

struct LoaderOptions {
  int64_t batch_size = 1000;  // this and what follows as in DataLoaderOptions
  bool shuffle = false;
  bool drop_last = false;
  uint64_t seed = 0;
  int num_workers = -1;
  int64_t queue_size = 0;
  bool ordered = true;
  std::vector<NodeFeature> input_features = {};  // of the input nodes
  std::vector<NodeFeature> seed_features = {};   // of the seeds (labels)
  std::vector<EdgeFeature> edge_features = {};   // of the sampled edges, in every layer
  NodeTypeId ntype = 0;                          // of features (and seeds) given without a type
  // When each seed asks, for TemporalSampler: seed_times[t][i] is the time of seed i of type t as
  // the loader is given them, seed_real_times the same for a column of floating-point numbers (see
  // BatchRequest). Of edges: t is the edge type. Empty: no times.
  std::vector<std::vector<int64_t>> seed_times = {};
  std::vector<std::vector<double>> seed_real_times = {};
};

// What a sampler made, with features.
struct NodeBatch : MiniBatch {
  // [layer][i]: rows of options.edge_features[i] in the order of the edge_ids of its type's edges
  // in blocks[layer].
  std::vector<std::vector<Tensor>> edge_features;
  // [ntype][i]: the time of batch.seeds[ntype][i], of each kind that the options have; else empty.
  std::vector<std::vector<int64_t>> seed_times;
  std::vector<std::vector<double>> seed_real_times;
};

// Iterates over mini-batches of nodes. Matches dgl.distributed.DistNodeDataLoader(g, nids,
// graph_sampler, batch_size=, shuffle=, drop_last=), with threads in place of sampler processes:
// its (input_nodes, output_nodes, blocks) are batch.input_nodes(t), batch.seeds[t], batch.blocks.
// The features asked for come with the batch: input_features[i] are rows of
// options.input_features[i] for batch.input_nodes(its type), seed_features[i] those of
// batch.seeds[its type].
//
//   for (loader.StartEpoch(epoch); auto batch = loader.Next();) Train(*batch);
//
// With options.seed_times seeds are events, which have their times through shuffling and cutting; a
// node may be given several times.
//
// The same seed gives the same batches, for any number of workers and however the partitions are
// reached. Used by one thread. It holds on to the graph and its session, which the caller may drop.
// Destroying it, or starting another epoch in the middle of one, stops the workers: each ends what
// it is at (a wait for a daemon within a tenth of a second) and begins nothing else; nothing of the
// old epoch is delivered later. An exception in a worker is thrown by the Next() whose batch
// it concerns; the loader can be used on.
class DistNodeDataLoader {
 public:
  // Seeds of one node type, options.ntype. All constructors throw Error(kInvalid) on a batch size
  // below 1, other options out of bounds, nodes or types out of range and times that are not as
  // many as the seeds, Error(kNotFound) on a feature that its type does not have, with those it
  // has.
  DistNodeDataLoader(DistGraph graph, std::vector<int64_t> nids, AnySampler sampler,
                     LoaderOptions options = {});
  // Seeds of several types: nids[t] are those of node type t, one list per type of the graph. (DGL:
  // a dict.) Batches mix the types: they are cut from all lists one after the other, or, with
  // `shuffle`, from all of them shuffled together.
  DistNodeDataLoader(DistGraph graph, std::vector<std::vector<int64_t>> nids, AnySampler sampler,
                     LoaderOptions options = {});
  ~DistNodeDataLoader();
  DistNodeDataLoader(DistNodeDataLoader&&) noexcept;

  // Batches of an epoch.
  int64_t num_batches() const noexcept;
  // Throws Error(kOverloaded) if the system gives no threads.
  void StartEpoch(int64_t epoch);
  // The next batch, or none at the epoch's end. Throws what made the batch fail:
  // Error(kUnavailable) or Error(kDeadline) naming the daemon; Error(kInvalid) if edge features are
  // wanted and the sampler tells no edge ids, if there are times and the sampler drops seeds that
  // come twice, or before the first epoch.
  std::optional<NodeBatch> Next();

 private:
  struct Impl;
  std::unique_ptr<Impl> impl_;
};

}  // namespace graphd
