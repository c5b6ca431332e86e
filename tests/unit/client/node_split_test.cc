// SPDX-License-Identifier: Apache-2.0
#include "graphd/node_split.h"

#include <gtest/gtest.h>

#include "tests/support/served_graph_fixture.h"

namespace graphd::testing {
namespace {

TEST(NodeSplit, GivesEverySetNodeToExactlyOneTrainerEvenly) {
  ServedGraphFixture files({});
  for (int world : {1, 2, 3, 7}) {
    std::vector<int64_t> all;
    for (int rank = 0; rank < world; rank++) {
      Options options = files.StandaloneOptions();
      options.rank = rank;
      options.world_size = world;
      const DistGraph graph(Initialize(options));
      const auto mine = NodeSplit(graph, graph.ndata("train_mask"));
      EXPECT_NEAR(static_cast<double>(mine.size()), 20000.0 / world, 1);
      all.insert(all.end(), mine.begin(), mine.end());
    }
    ASSERT_EQ(all.size(), 20000u);
    EXPECT_TRUE(std::is_sorted(all.begin(), all.end()));
    EXPECT_EQ(std::adjacent_find(all.begin(), all.end()), all.end());
  }
}

TEST(NodeSplit, WithoutForceEvenEachTrainerStaysInItsPartition) {
  ServedGraphFixture files({});
  std::vector<int64_t> all;
  for (int part : {0, 1}) {
    for (int local = 0; local < 2; local++) {
      Options options = files.StandaloneOptions();
      options.part = part;
      options.local_rank = local;
      options.local_world_size = 2;
      const DistGraph graph(Initialize(options));
      for (int64_t id : NodeSplit(graph, graph.ndata("train_mask"), false)) {
        EXPECT_EQ(graph.partition_book().nodes().Owner(0, id), part);
        all.push_back(id);
      }
    }
  }
  EXPECT_EQ(all.size(), 20000u);
}

TEST(NodeSplit, RefusesWhatIsNoMask) {
  ServedGraphFixture files({});
  const DistGraph graph(Initialize(files.StandaloneOptions()));
  EXPECT_THROW(NodeSplit(graph, graph.ndata("label")), Error);
  EXPECT_THROW(NodeSplit(graph, graph.ndata("wide")), Error);
}

}  // namespace
}  // namespace graphd::testing
