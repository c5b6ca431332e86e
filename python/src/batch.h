// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <memory>
#include <utility>

#include "graphd/edge_data_loader.h"
#include "ids_on_demand.h"
#include "samplers.h"

namespace graphd::python {

// The Python handle of a mini-batch. Tensors that Python gets are views that keep the batch alive.
struct Batch {
  // The batch. If it is a batch of nodes, its lists of positive and negative edges are empty.
  std::shared_ptr<const EdgeBatch> data;
  // The ids of the sampled edges, if `data` does not have them. Null if `data` has them, or if the
  // batch is to have none.
  std::shared_ptr<LateEdgeIds> late_edge_ids = nullptr;
  bool has_edge_ids = true;  // ids of sampled edges are in `data`, or in `late_edge_ids`

  // Takes a batch that has the ids of its edges.
  explicit Batch(EdgeBatch batch) : data(std::make_shared<EdgeBatch>(std::move(batch))) {}
  // Takes a batch of a sampler.
  Batch(EdgeBatch batch, const SamplerHandle& sampler, std::shared_ptr<const DistGraph> graph)
      : Batch(std::move(batch)) {
    has_edge_ids = sampler.has_edge_ids;
    if (sampler.on_demand && !HasEdgeIds(*data)) {
      late_edge_ids = std::make_shared<LateEdgeIds>(data, std::move(graph), sampler.on_demand);
    }
  }
  Batch(NodeBatch batch, const SamplerHandle& sampler, std::shared_ptr<const DistGraph> graph)
      : Batch(EdgeBatch{std::move(batch), {}, {}, {}}, sampler, std::move(graph)) {}
};

}  // namespace graphd::python
