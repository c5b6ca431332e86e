// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <span>
#include <vector>

#include "client/loaders/loader_items.h"
#include "client/routing/graph_access.h"
#include "graphd/edge_data_loader.h"

namespace graphd {

// The ends of a batch's edges as seeds, numbered by first appearance.
struct EdgeSeeds {
  std::vector<std::vector<int64_t>> nodes, times;  // [ntype]; times as they were told
  std::vector<std::vector<double>> real_times;
  std::vector<PairEdges> positive, negative;  // [etype] positions in nodes
};

// Each node once. `positive` and `negative` are by edge type.
EdgeSeeds NumberEnds(GraphAccess& access, const std::vector<EdgeEnds>& positive,
                     const std::vector<EdgeEnds>& negative);

// Each pair of node and time once: ends ask at the time of their edge, which `eids` tells; negative
// edge j of n at that of positive edge floor(j * m / n) of m.
EdgeSeeds NumberEventEnds(const Schema& schema, const std::vector<EdgeEnds>& positive,
                          const std::vector<EdgeEnds>& negative, const LoaderItems::ByType& eids);

}  // namespace graphd
