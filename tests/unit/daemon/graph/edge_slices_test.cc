// SPDX-License-Identifier: Apache-2.0
// Tests of requests about edges that the daemon cuts into slices: 16,384 ids each.
#include <gtest/gtest.h>

#include <numeric>
#include <vector>

#include "graphd/dist_graph.h"
#include "tests/support/served_graph_fixture.h"

namespace graphd::testing {
namespace {

constexpr int64_t kCount = 40'000;

class EdgeSlices : public ::testing::Test {
 protected:
  EdgeSlices() { std::iota(all_.begin(), all_.end(), 0); }

  ServedGraphFixture served_{
      HomogeneousGraph(kCount, RandomMultigraph(kCount, kCount, 1)), {{0}}, 1};
  // The memory of one is mapped, the other one asks the daemon.
  const DistGraph mapped_ = DistGraph(Initialize(served_.TrainerOptions(Transport::kAuto, 0, 2)));
  const DistGraph remote_ = DistGraph(Initialize(served_.TrainerOptions(Transport::kTcp, 1, 2)));
  std::vector<int64_t> all_ = std::vector<int64_t>(kCount);
};

TEST_F(EdgeSlices, GiveTheAnswersOfMappedMemory) {
  const EdgeEnds wanted = mapped_.FindEdges(all_), ends = remote_.FindEdges(all_);
  EXPECT_EQ(ends.src, wanted.src);
  EXPECT_EQ(ends.dst, wanted.dst);
  EXPECT_EQ(remote_.InDegrees(all_), mapped_.InDegrees(all_));
  EXPECT_EQ(remote_.OutDegrees(all_), mapped_.OutDegrees(all_));
  std::vector<int64_t> others(ends.dst.rbegin(), ends.dst.rend());
  EXPECT_EQ(remote_.HasEdges(ends.src, others), mapped_.HasEdges(ends.src, others));
  EXPECT_EQ(remote_.HasEdges(ends.src, ends.dst), std::vector<uint8_t>(kCount, 1));
}

TEST_F(EdgeSlices, OfNoIdsGiveNothing) {
  EXPECT_TRUE(remote_.FindEdges({}).src.empty());
  EXPECT_TRUE(remote_.InDegrees({}).empty());
}

}  // namespace
}  // namespace graphd::testing
