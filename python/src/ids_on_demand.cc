// SPDX-License-Identifier: Apache-2.0
#include "ids_on_demand.h"

#include <algorithm>

#include "base/strings.h"

namespace graphd::python {

bool HasEdgeIds(const MiniBatch& batch) {
  const auto has_ids = [](const BlockEdges& edges) {
    return edges.edge_ids.size() == edges.indices.size();
  };
  return std::ranges::all_of(
      batch.blocks, [&](const Block& block) { return std::ranges::all_of(block.edges, has_ids); });
}

const std::vector<int64_t>& LateEdgeIds::Of(size_t layer, size_t etype) {
  const MutexLock lock(mutex_);
  if (ids_.empty()) ids_ = SampleAgain();
  return ids_.at(layer).at(etype);
}

std::vector<LateEdgeIds::OfBlock> LateEdgeIds::SampleAgain() const {
  MiniBatch again = sampler_->SampleWithIds(*graph_, batch_->Request());
  std::vector<OfBlock> ids(again.blocks.size());
  bool is_same = again.blocks.size() == batch_->blocks.size();
  for (size_t l = 0; is_same && l < ids.size(); l++) {
    Block& block = again.blocks[l];
    const Block& before = batch_->blocks[l];
    is_same = block.src_nodes == before.src_nodes && block.edges.size() == before.edges.size();
    for (size_t e = 0; is_same && e < block.edges.size(); e++) {
      is_same = block.edges[e].indptr == before.edges[e].indptr &&
                block.edges[e].indices == before.edges[e].indices;
      ids[l].push_back(std::move(block.edges[e].edge_ids));
    }
  }
  if (!is_same) {
    Throw(ErrorCode::kInternal, "a batch has other edges when it is sampled again for their ids; ",
          "make the sampler with edge_ids=True, and report this");
  }
  return ids;
}

}  // namespace graphd::python
