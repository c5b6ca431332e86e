// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <span>
#include <vector>

#include "client/loaders/loader_items.h"
#include "client/routing/graph_access.h"
#include "graphd/edge_data_loader.h"

namespace graphd {

// The endpoints of a batch's edges as seeds, numbered by first appearance.
struct EdgeSeeds {
  std::vector<std::vector<int64_t>> nodes, times;  // [ntype] ids and, if given, times
  std::vector<std::vector<double>> real_times;
  std::vector<PairEdges> positive, negative;  // [etype] endpoints as positions in `nodes`
};

// Makes one seed per node. `positive` and `negative` are indexed by edge type.
EdgeSeeds NumberEnds(GraphAccess& access, const std::vector<EdgeEnds>& positive,
                     const std::vector<EdgeEnds>& negative);

// Makes one seed per pair of node and time. The endpoints of a positive edge have the edge's time
// in `eids`. The endpoints of negative edge j of n have the time of positive edge floor(j * m / n)
// of m.
EdgeSeeds NumberEventEnds(const Schema& schema, const std::vector<EdgeEnds>& positive,
                          const std::vector<EdgeEnds>& negative, const LoaderItems::ByType& eids);

}  // namespace graphd
