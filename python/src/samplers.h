// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <memory>

#include "graphd/negative.h"
#include "graphd/samplers.h"

namespace graphd::python {

// The Python handles of samplers.
struct SamplerHandle {
  std::shared_ptr<const BlockSampler> sampler;
};
struct NegativeHandle {
  std::shared_ptr<const NegativeSampler> sampler;
};

}  // namespace graphd::python
