// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <string>
#include <vector>

#include "graphd/schema.h"

namespace examples {

// Returns fanouts by layer and edge type for NeighborSampler: `all` (one per layer, input layer
// first) for every edge type, except those named by `exceptions`, such as "depends=5,10" or
// "package:depends:package=5,10". The numbers in exceptions are multiplied by `factor`, except -1,
// which means all neighbours. Throws graphd::Error(kNotFound) on an unknown edge type,
// Error(kInvalid) on invalid text or another number of layers.
std::vector<std::vector<int>> TypedFanouts(const graphd::Schema& schema,
                                           const std::vector<int>& all,
                                           const std::vector<std::string>& exceptions,
                                           int factor = 1);

}  // namespace examples
