// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <algorithm>
#include <string>
#include <utility>
#include <vector>

#include "format/partitioner.h"
#include "graphd/dist_graph.h"
#include "graphd/initialize.h"
#include "tests/unit/format/raw_graph_samples.h"

namespace graphd::testing {

// A small graph that is partitioned and opened in standalone mode, with the mapping to the original
// ids of its nodes.
class CutGraph {
 public:
  explicit CutGraph(const RawGraph& raw, int num_parts = 2) : graph_(Open(raw, num_parts)) {
    for (NodeTypeId t = 0; t < graph_.schema().num_ntypes(); t++) {
      const Tensor ids = graph_.ndata("orig_id", t).Slice(0, graph_.num_nodes(t));
      original_.emplace_back(ids.as<int64_t>().begin(), ids.as<int64_t>().end());
    }
  }

  const DistGraph& operator*() const noexcept { return graph_; }
  const DistGraph* operator->() const noexcept { return &graph_; }
  // Converts an original id to the id in the partitioned graph.
  int64_t New(int64_t original, NodeTypeId t = 0) const {
    const std::vector<int64_t>& ids = original_.at(static_cast<size_t>(t));
    return std::find(ids.begin(), ids.end(), original) - ids.begin();
  }
  int64_t Original(int64_t id, NodeTypeId t = 0) const {
    return original_.at(static_cast<size_t>(t)).at(static_cast<size_t>(id));
  }
  std::vector<int64_t> New(const std::vector<int64_t>& original, NodeTypeId t = 0) const {
    std::vector<int64_t> ids;
    for (int64_t id : original) ids.push_back(New(id, t));
    return ids;
  }

 private:
  DistGraph Open(const RawGraph& raw, int num_parts) {
    PartitionOptions cut;
    cut.graph_name = "cut";
    cut.num_parts = num_parts;
    cut.method = PartMethod::kRandom;
    cut.output = scratch_ / "data";
    Options options;
    options.part_config = PartitionGraph(raw, cut).part_config;
    return DistGraph(Initialize(options));
  }
  ScratchDirectory scratch_;
  DistGraph graph_;
  std::vector<std::vector<int64_t>> original_;  // [ntype]
};

}  // namespace graphd::testing
