// SPDX-License-Identifier: Apache-2.0
// Walks over two daemons: standalone, through mapped memory, over the Unix socket and over TCP.
#include <gtest/gtest.h>

#include "base/rng.h"
#include "graphd/walks.h"
#include "tests/support/served_graph_fixture.h"

namespace graphd::testing {
namespace {

constexpr Transport kAll[] = {Transport::kAuto, Transport::kUnix, Transport::kTcp};

class WalkWays : public ::testing::Test {
 protected:
  static void SetUpTestSuite() {
    served_ = std::make_unique<ServedGraphFixture>(std::vector<std::vector<int>>{{0}, {1}});
  }
  static void TearDownTestSuite() { served_.reset(); }

  static DistGraph Standalone() { return DistGraph(Initialize(served_->StandaloneOptions())); }
  static DistGraph Connected(Transport transport) {
    return DistGraph(Initialize(served_->TrainerOptions(transport)), "hubs");
  }
  static std::vector<int64_t> SomeNodes(size_t n, uint64_t seed) {
    CounterRng random(seed);
    std::vector<int64_t> ids(n);
    for (auto& id : ids) id = static_cast<int64_t>(random.Below(ServedGraphFixture::kNodes));
    return ids;
  }
  static void ExpectSame(const Walks& a, const Walks& b) {
    EXPECT_EQ(a.nodes, b.nodes);
    EXPECT_EQ(a.edge_ids, b.edge_ids);
    EXPECT_EQ(a.ntypes, b.ntypes);
  }
  static std::unique_ptr<ServedGraphFixture> served_;
};

std::unique_ptr<ServedGraphFixture> WalkWays::served_;

TEST_F(WalkWays, RandomWalksAreTheSame) {
  const auto seeds = SomeNodes(3000, 1);
  for (const WalkOptions& options :
       {WalkOptions{.restart_prob = {0.1}, .edge_ids = true, .seed = 5},
        WalkOptions{.prob = "weight", .edge_ids = true, .seed = 6},
        WalkOptions{.direction = Direction::kIn, .prob = "weight", .seed = 7},
        WalkOptions{.direction = Direction::kIn, .edge_ids = true, .seed = 8}}) {
    const Walks expected = RandomWalk(Standalone(), seeds, 6, options);
    EXPECT_GT(std::count_if(expected.nodes.begin(), expected.nodes.end(),
                            [](int64_t v) { return v >= 0; }),
              6000);
    for (Transport transport : kAll) {
      ExpectSame(expected, RandomWalk(Connected(transport), seeds, 6, options));
    }
  }
}

}  // namespace
}  // namespace graphd::testing
