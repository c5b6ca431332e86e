// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <string>
#include <vector>

#include "graphd/schema.h"

namespace examples {

// Fanouts by layer and edge type, as NeighborSampler takes them: `all` (one per layer, input layer
// first) for every edge type but those that `exceptions` name, such as "depends=5,10" or
// "package:depends:package=5,10", whose numbers (-1, all neighbours, excepted) are multiplied by
// `factor`. Throws graphd::Error(kNotFound) on an edge type there is not, Error(kInvalid) on what
// is no such text, or has another number of layers.
std::vector<std::vector<int>> TypedFanouts(const graphd::Schema& schema,
                                           const std::vector<int>& all,
                                           const std::vector<std::string>& exceptions,
                                           int factor = 1);

}  // namespace examples
