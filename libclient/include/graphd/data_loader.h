// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "graphd/dist_graph.h"
#include "graphd/sampling.h"

namespace graphd {

struct LoaderOptions {
  int64_t batch_size = 1000;
  bool shuffle = false;    // another order each epoch, from `seed` and the epoch's number
  bool drop_last = false;  // drop an incomplete last batch
  uint64_t seed = 0;       // of order and samples; the same seed gives the same batches
  int num_workers = -1;    // sampler threads; 0: sample in Next(); -1: Options::num_samplers
  int prefetch = 2;        // batches that may wait per worker; bounds the loader's memory
  std::vector<std::string> input_features = {};  // node features fetched for the input nodes
  std::vector<std::string> seed_features = {};   // node features fetched for the seeds (labels)
  NodeTypeId ntype = 0;                          // the type of the seeds and of the features
};

// Iterates over mini-batches of `nids`. Matches dgl.distributed.DistNodeDataLoader, with threads in
// place of sampler processes. Batches come in order and are the same for any number of workers.
//
//   for (loader.StartEpoch(epoch); auto batch = loader.Next();) Train(*batch);
//
// Used by one thread. Destroying it, or starting another epoch in the middle of one, stops the
// workers cleanly; nothing of the old epoch is delivered later. An exception in a worker is thrown
// by the Next() whose batch it concerns.
class DistNodeDataLoader {
 public:
  // Throws Error(kInvalid) on a batch size below 1, ids out of range, or unknown features.
  DistNodeDataLoader(DistGraph graph, std::vector<int64_t> nids, NeighborSampler sampler,
                     LoaderOptions options = {});
  ~DistNodeDataLoader();
  DistNodeDataLoader(DistNodeDataLoader&&) noexcept;

  // Batches of an epoch.
  int64_t num_batches() const noexcept;
  void StartEpoch(int64_t epoch);
  // The next batch, or none at the epoch's end.
  std::optional<MiniBatch> Next();

 private:
  struct Impl;
  std::unique_ptr<Impl> impl_;
};

}  // namespace graphd
