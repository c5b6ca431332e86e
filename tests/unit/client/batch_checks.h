// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <gtest/gtest.h>

#include <cstring>

#include "graphd/block.h"

namespace graphd::testing {

// Expects all members that a sampler sets to be equal.
inline void ExpectSameBatch(const MiniBatch& a, const MiniBatch& b) {
  ASSERT_EQ(a.seeds, b.seeds);
  ASSERT_EQ(a.blocks.size(), b.blocks.size());
  for (size_t l = 0; l < a.blocks.size(); l++) {
    ASSERT_EQ(a.blocks[l].src_nodes, b.blocks[l].src_nodes);
    ASSERT_EQ(a.blocks[l].num_dst, b.blocks[l].num_dst);
    ASSERT_EQ(a.blocks[l].roots, b.blocks[l].roots);
    ASSERT_EQ(a.blocks[l].edges.size(), b.blocks[l].edges.size());
    for (size_t e = 0; e < a.blocks[l].edges.size(); e++) {
      const BlockEdges &x = a.blocks[l].edges[e], &y = b.blocks[l].edges[e];
      ASSERT_EQ(x.indptr, y.indptr);
      ASSERT_EQ(x.indices, y.indices);
      ASSERT_EQ(x.edge_ids, y.edge_ids);
      ASSERT_EQ(x.weights, y.weights);
    }
  }
  const auto same = [](const std::vector<Tensor>& x, const std::vector<Tensor>& y) {
    ASSERT_EQ(x.size(), y.size());
    for (size_t i = 0; i < x.size(); i++) {
      ASSERT_EQ(x[i].shape(), y[i].shape());
      ASSERT_EQ(memcmp(x[i].data(), y[i].data(), x[i].num_bytes()), 0);
    }
  };
  same(a.input_features, b.input_features);
  same(a.seed_features, b.seed_features);
}

// Expects that sources begin with the destinations and are the destinations of the previous layer.
inline void ExpectChain(const MiniBatch& batch) {
  for (size_t l = 0; l < batch.blocks.size(); l++) {
    const bool last = l + 1 == batch.blocks.size();
    const auto& next = last ? batch.seeds : batch.blocks[l + 1].src_nodes;
    ASSERT_EQ(batch.blocks[l].src_nodes.size(), next.size());
    for (size_t t = 0; t < next.size(); t++) {
      const auto dst = batch.blocks[l].dst_nodes(static_cast<NodeTypeId>(t));
      ASSERT_EQ(std::vector<int64_t>(dst.begin(), dst.end()), next[t]);
    }
  }
}

}  // namespace graphd::testing
