// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <memory>

#include "graphd/negative.h"
#include "graphd/samplers.h"
#include "ids_on_demand.h"

namespace graphd::python {

// The Python handles of samplers.
struct SamplerHandle {
  std::shared_ptr<const BlockSampler> sampler;
  bool has_edge_ids = true;                           // batches have the ids of their edges
  std::shared_ptr<const IdsOnDemand> on_demand = {};  // `sampler`, if it makes ids on demand
};
struct NegativeHandle {
  std::shared_ptr<const NegativeSampler> sampler;
};

}  // namespace graphd::python
