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

// The NodeFeature::ntype that stands for LoaderOptions::ntype.
inline constexpr NodeTypeId kTypeOfOptions = -1;

// The name of a node feature that a loader fetches with each batch, with an optional node type.
struct NodeFeature {
  NodeFeature(const char* feature) : name(feature) {}
  NodeFeature(std::string feature) : name(std::move(feature)) {}
  NodeFeature(NodeTypeId type, std::string feature) : ntype(type), name(std::move(feature)) {}
  NodeTypeId ntype = kTypeOfOptions;  // kTypeOfOptions: LoaderOptions::ntype
  std::string name;
};
// The name of an edge feature that a loader fetches with each batch, with its edge type (default
// 0).
struct EdgeFeature {
  EdgeFeature(const char* feature) : name(feature) {}
  EdgeFeature(std::string feature) : name(std::move(feature)) {}
  EdgeFeature(EdgeTypeId type, std::string feature) : etype(type), name(std::move(feature)) {}
  EdgeTypeId etype = 0;
  std::string name;
};

// The settings of DistNodeDataLoader and DistEdgeDataLoader.
struct LoaderOptions {
  // This option and the next six have the same meaning as in DataLoaderOptions.
  int64_t batch_size = 1000;
  bool shuffle = false;
  bool drop_last = false;
  uint64_t seed = 0;
  int num_workers = -1;
  int64_t queue_size = 0;
  bool ordered = true;
  std::vector<NodeFeature> input_features = {};  // features of the input nodes
  std::vector<NodeFeature> seed_features = {};   // features of the seeds, e.g. labels
  std::vector<EdgeFeature> edge_features = {};   // features of the sampled edges, in every layer
  NodeTypeId ntype = 0;  // node type of seeds and features given without a type
  // The query time of each seed, for TemporalSampler, on an integer time column: seed_times[t][i]
  // is the time of seed i of node type t (edge type t in DistEdgeDataLoader), in the order in which
  // the loader is given the seeds. Empty: no times.
  std::vector<std::vector<int64_t>> seed_times = {};
  // The same for a floating-point time column; see BatchRequest.
  std::vector<std::vector<double>> seed_real_times = {};
};

// A mini-batch of a sampler, with edge features and times.
struct NodeBatch : MiniBatch {
  // [layer][i] rows of options.edge_features[i], in the order of edge_ids of the feature's edge
  // type in blocks[layer].
  std::vector<std::vector<Tensor>> edge_features;
  // [ntype][i] the time of seeds[ntype][i]; empty unless the options have integer times.
  std::vector<std::vector<int64_t>> seed_times;
  // [ntype][i] the same for floating-point times.
  std::vector<std::vector<double>> seed_real_times;
  uint64_t seed = 0;                               // BatchRequest::seed of the batch
  std::vector<std::vector<int64_t>> exclude = {};  // BatchRequest::exclude of the batch

  // Returns the request from which the sampler sampled this batch, without the features. With this
  // request the sampler, or another one with the same settings, samples the same blocks again.
  BatchRequest Request() const;
};

// Iterates over mini-batches of nodes. Matches dgl.distributed.DistNodeDataLoader(g, nids,
// graph_sampler, batch_size=, shuffle=, drop_last=), with threads in place of sampler processes.
// DGL's (input_nodes, output_nodes, blocks) are batch.input_nodes(t), batch.seeds[t] and
// batch.blocks.
//
//   for (loader.StartEpoch(epoch); auto batch = loader.Next();) Train(*batch);
//
// The requested features come with the batch: batch.input_features[i] has the rows of
// options.input_features[i] for the input nodes of its type, batch.seed_features[i] the rows of
// options.seed_features[i] for the seeds of its type.
//
// With options.seed_times the seeds are events: each seed keeps its time when the order is shuffled
// and cut into batches, and a node may be listed several times.
//
// The same options.seed gives the same batches, for any number of workers and any transport. An
// object must be used by one thread at a time. It keeps the graph and its session alive. Destroying
// it, or starting another epoch before the end of one, stops the workers: each finishes its current
// operation (a wait for a daemon ends within 0.1 s) and starts no other; no batch of the old epoch
// is delivered later. An exception in a worker is rethrown by the call of Next() for the batch
// concerned; the loader remains usable.
class DistNodeDataLoader {
 public:
  // Iterates over seeds of one node type, options.ntype, given as type-wise ids. All constructors
  // throw Error(kInvalid) on a batch size below 1, on other options, nodes or types out of range
  // and if the number of times differs from that of seeds, and Error(kNotFound), which lists the
  // existing features, if a type does not have a requested feature.
  DistNodeDataLoader(DistGraph graph, std::vector<int64_t> nids, AnySampler sampler,
                     LoaderOptions options = {});
  // Iterates over seeds of several types: nids[t] are the type-wise ids of node type t, one list
  // per node type of the graph (DGL: a dict). Batches mix the types: they are cut from the
  // concatenation of the lists or, with `shuffle`, from a permutation of it.
  DistNodeDataLoader(DistGraph graph, std::vector<std::vector<int64_t>> nids, AnySampler sampler,
                     LoaderOptions options = {});
  // Stops the workers.
  ~DistNodeDataLoader();
  DistNodeDataLoader(DistNodeDataLoader&&) noexcept;

  // Returns the number of batches of an epoch.
  int64_t num_batches() const noexcept;
  // Starts an epoch; the remaining batches of the previous epoch are dropped. Throws
  // Error(kOverloaded) if the system provides no more threads.
  void StartEpoch(int64_t epoch);
  // Waits for the next batch and returns it; returns nothing at the end of the epoch. Throws
  // Error(kUnavailable) or Error(kDeadline), which name the daemon, if the batch failed. Throws
  // Error(kInvalid) before the first epoch, if edge features are requested and the sampler does not
  // return edge ids, and if there are times and the sampler drops duplicate seeds.
  std::optional<NodeBatch> Next();

 private:
  struct Impl;
  std::unique_ptr<Impl> impl_;
};

}  // namespace graphd
