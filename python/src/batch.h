// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <memory>
#include <utility>

#include "graphd/edge_data_loader.h"

namespace graphd::python {

// The Python handle of a mini-batch. Tensors that Python gets are views that keep the batch alive.
struct Batch {
  // A batch of nodes has no edges.
  std::shared_ptr<const EdgeBatch> data;

  explicit Batch(EdgeBatch batch) : data(std::make_shared<EdgeBatch>(std::move(batch))) {}
  explicit Batch(NodeBatch batch) : Batch(EdgeBatch{std::move(batch), {}, {}, {}}) {}
  explicit Batch(MiniBatch batch) : Batch(NodeBatch{std::move(batch), {}, {}, {}}) {}
};

}  // namespace graphd::python
