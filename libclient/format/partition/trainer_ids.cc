// SPDX-License-Identifier: Apache-2.0
#include "format/partition/trainer_ids.h"

#include <algorithm>

namespace graphd {

RawGraph WithTrainerIds(const RawGraph& graph, const NodeOwners& trainers) {
  RawGraph with = graph;
  for (size_t t = 0; t < with.nodes.size(); t++) {
    Tensor ids = Tensor::Empty(DType::kInt64, {with.nodes[t].count});
    std::copy(trainers[t].begin(), trainers[t].end(), ids.as<int64_t>().begin());
    with.nodes[t].features.push_back({kTrainerId, std::move(ids)});
  }
  for (size_t e = 0; e < with.edges.size(); e++) {
    RawEdges& edges = with.edges[e];
    const auto dst = static_cast<size_t>(graph.schema.dst_type(static_cast<EdgeTypeId>(e)));
    Tensor ids = Tensor::Empty(DType::kInt64, {edges.count()});
    const auto values = ids.as<int64_t>();
    edges.ForEach([&](size_t edge, uint64_t, uint64_t v) { values[edge] = trainers[dst][v]; });
    edges.features.push_back({kTrainerId, std::move(ids)});
  }
  return with;
}

}  // namespace graphd
