// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <memory>
#include <utility>

#include "graphd/edge_data_loader.h"

namespace graphd::python {

// A mini-batch that Python looks at. Its tensors are views that keep it alive.
struct Batch {
  // Of nodes: without edges.
  std::shared_ptr<const EdgeBatch> data;

  explicit Batch(EdgeBatch batch) : data(std::make_shared<EdgeBatch>(std::move(batch))) {}
  explicit Batch(NodeBatch batch) : Batch(EdgeBatch{std::move(batch), {}, {}, {}}) {}
  explicit Batch(MiniBatch batch) : Batch(NodeBatch{std::move(batch), {}, {}, {}}) {}
};

}  // namespace graphd::python
