// SPDX-License-Identifier: Apache-2.0
#include "graphd/shadow_sampler.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <set>

#include "base/index.h"
#include "tests/support/served_graph_fixture.h"
#include "tests/unit/client/batch_checks.h"
#include "tests/unit/client/sampling_graph.h"

namespace graphd::testing {
namespace {

class Shadow : public ServedSamplingGraph {
 protected:
  static BatchRequest Request() {
    BatchRequest request{{{3, 17, 3}, {1, 9, 30}}, 8};
    request.exclude.resize(4);
    for (const KnownEdge& edge : known_[2]) {
      if (edge.id % 5 == 0) request.exclude[2].insert(request.exclude[2].begin(), edge.id);
    }
    request.input_features = {{0, "feat"}, {1, "feat"}};
    request.seed_features = {{1, "label"}};
    return request;
  }
  // Expects the block to have all known edges between its nodes.
  static void ExpectInduced(const Block& block, const std::vector<std::vector<int64_t>>& exclude);
};

void Shadow::ExpectInduced(const Block& block, const std::vector<std::vector<int64_t>>& exclude) {
  const Schema& schema = alone_->schema();
  std::vector<std::map<int64_t, int64_t>> place(block.src_nodes.size());
  for (size_t t = 0; t < place.size(); t++) {
    ASSERT_EQ(block.num_dst[t], static_cast<int64_t>(block.src_nodes[t].size()));
    for (size_t i = 0; i < block.src_nodes[t].size(); i++) {
      ASSERT_TRUE(place[t].emplace(block.src_nodes[t][i], i).second);
    }
  }
  ASSERT_EQ(block.edges.size(), known_.size());
  for (size_t e = 0; e < known_.size(); e++) {
    const auto& src = place[Index(schema.src_type(static_cast<EdgeTypeId>(e)))];
    const auto& dst = place[Index(schema.dst_type(static_cast<EdgeTypeId>(e)))];
    std::set<std::tuple<int64_t, int64_t, int64_t>> expected, got;  // places, id
    for (const KnownEdge& edge : known_[e]) {
      if (!src.contains(edge.src) || !dst.contains(edge.dst)) continue;
      if (e < exclude.size() && std::count(exclude[e].begin(), exclude[e].end(), edge.id)) continue;
      expected.emplace(dst.at(edge.dst), src.at(edge.src), edge.id);
    }
    const BlockEdges& edges = block.edges[e];
    ASSERT_EQ(edges.etype, static_cast<EdgeTypeId>(e));
    ASSERT_EQ(edges.indptr.size(), dst.size() + 1);
    ASSERT_EQ(edges.indices.size(), expected.size());
    for (size_t v = 0; v < dst.size(); v++) {
      for (size_t k = Index(edges.indptr[v]); k < Index(edges.indptr[v + 1]); k++) {
        got.emplace(v, edges.indices[k], edges.edge_ids[k]);
        if (k == Index(edges.indptr[v])) continue;
        const auto& nodes = block.src_nodes[Index(schema.src_type(static_cast<EdgeTypeId>(e)))];
        EXPECT_LE(nodes[Index(edges.indices[k - 1])], nodes[Index(edges.indices[k])]);
      }
    }
    EXPECT_EQ(got, expected) << "edge type " << e;
  }
}

TEST_F(Shadow, TheBlockIsInducedByAllNodesThatTheHopsFound) {
  for (int fanout : {kAllNeighbors, 0, 3}) {
    const ShadowSampler sampler({fanout, 2}, {.edge_ids = true});
    EXPECT_EQ(sampler.num_layers(), 1u);
    for (bool excluding : {false, true}) {
      BatchRequest request = Request();
      if (!excluding) request.exclude.clear();
      const MiniBatch batch = sampler.Sample(*alone_, request);
      const MiniBatch hops = NeighborSampler({fanout, 2}).Sample(*alone_, request);
      ASSERT_EQ(batch.blocks.size(), 1u);
      EXPECT_EQ(batch.seeds, (std::vector<std::vector<int64_t>>{{3, 17}, {1, 9, 30}}));
      EXPECT_EQ(batch.blocks[0].src_nodes, hops.blocks[0].src_nodes);
      for (size_t t = 0; t < 2; t++) {
        EXPECT_TRUE(std::equal(batch.seeds[t].begin(), batch.seeds[t].end(),
                               batch.blocks[0].src_nodes[t].begin()));
        const Tensor feat =
            alone_->ndata("feat", static_cast<NodeTypeId>(t)).Read(batch.blocks[0].src_nodes[t]);
        ASSERT_EQ(batch.input_features[t].shape(), feat.shape());
        EXPECT_EQ(memcmp(batch.input_features[t].data(), feat.data(), feat.num_bytes()), 0);
      }
      ExpectInduced(batch.blocks[0], request.exclude);
    }
  }
}

TEST_F(Shadow, WithoutHopsTheBlockIsTheSubgraphOfTheSeeds) {
  std::vector<int64_t> papers(kSamplingPapers);
  for (size_t i = 0; i < papers.size(); i++)
    papers[i] = kSamplingPapers - 1 - static_cast<int64_t>(i);
  const BatchRequest request{{{}, papers}, 1};
  const MiniBatch batch =
      ShadowSampler(std::vector<int>{}, {.edge_ids = true}).Sample(*alone_, request);
  EXPECT_EQ(batch.blocks[0].src_nodes[1], papers);
  ExpectInduced(batch.blocks[0], {});
  EXPECT_EQ(batch.blocks[0].edges[2].indices.size(), known_[2].size());
}

TEST_F(Shadow, EdgeIdsAreReturnedOnlyOnRequest) {
  const MiniBatch batch = ShadowSampler({4, 4}).Sample(*alone_, Request());
  EXPECT_GT(batch.blocks[0].num_edges(), 0);
  for (const BlockEdges& edges : batch.blocks[0].edges) EXPECT_TRUE(edges.edge_ids.empty());
}

TEST_F(Shadow, SubgraphsAreTheSameForEveryTransport) {
  for (const char* column : {"", "w"}) {
    const SamplingMethod method = *column ? SamplingMethod::kWeighted : SamplingMethod::kUniform;
    const ShadowSampler sampler({3, 2}, {false, true, method, column});
    const MiniBatch expected = sampler.Sample(*alone_, Request());
    for (Transport transport : {Transport::kAuto, Transport::kUnix, Transport::kTcp}) {
      const DistGraph graph(Initialize(served_->TrainerOptions(transport)), "hubs");
      ExpectSameBatch(expected, sampler.Sample(graph, Request()));
    }
  }
}

TEST_F(Shadow, BadRequestsAreRefused) {
  EXPECT_THROW(ShadowSampler({3, -2}), Error);
  EXPECT_THROW(ShadowSampler({3, 2}).Sample(*alone_, {{kSamplingAuthors}}, 1), Error);
  EXPECT_THROW(ShadowSampler(std::vector<int>{}).Sample(*alone_, {{0}, {-1}}, 1), Error);
  EXPECT_THROW(ShadowSampler({3, 2}, {.column = "nothing"}).Sample(*alone_, {{0}}, 1), Error);
}

}  // namespace
}  // namespace graphd::testing
