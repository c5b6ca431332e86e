// SPDX-License-Identifier: Apache-2.0
// Compares walks in standalone mode, through mapped memory, over the Unix socket and over TCP.
#include <gtest/gtest.h>

#include <thread>

#include "base/rng.h"
#include "graphd/negative.h"
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

TEST_F(WalkWays, SecondOrderWalksAreTheSame) {
  const auto seeds = SomeNodes(200, 2);
  for (const Node2vecOptions& options :
       {Node2vecOptions{.edge_ids = true, .seed = 5},
        Node2vecOptions{.direction = Direction::kIn, .prob = "weight", .seed = 7}}) {
    for (double q : {0.5, 1e4}) {
      const Walks expected = Node2vecWalk(Standalone(), seeds, 0.25, q, 4, options);
      EXPECT_NE(expected.nodes, Node2vecWalk(Standalone(), seeds, 1, 1, 4, options).nodes);
      for (Transport transport : kAll) {
        ExpectSame(expected, Node2vecWalk(Connected(transport), seeds, 0.25, q, 4, options));
      }
    }
  }
}

TEST_F(WalkWays, VisitedNeighborsAreTheSame) {
  const auto seeds = SomeNodes(50, 3);
  const PinSageOptions options{.num_traversals = 3,
                               .termination_prob = 0.3,
                               .num_random_walks = 40,
                               .num_neighbors = 5,
                               .seed = 2};
  const VisitedNeighbors expected = PinSageNeighbors(Standalone(), seeds, options);
  EXPECT_GT(expected.neighbors.size(), 100u);
  for (Transport transport : kAll) {
    const VisitedNeighbors found = PinSageNeighbors(Connected(transport), seeds, options);
    EXPECT_EQ(found.indptr, expected.indptr);
    EXPECT_EQ(found.neighbors, expected.neighbors);
    EXPECT_EQ(found.visits, expected.visits);
  }
}

TEST_F(WalkWays, NegativeEdgesAreTheSame) {
  const NegativeEdges expected = GlobalUniformNegatives(Standalone(), 5000, {.seed = 4});
  ASSERT_EQ(expected.src.size(), 5000u);
  for (Transport transport : kAll) {
    const NegativeEdges found = GlobalUniformNegatives(Connected(transport), 5000, {.seed = 4});
    EXPECT_EQ(found.src, expected.src);
    EXPECT_EQ(found.dst, expected.dst);
  }
}

TEST_F(WalkWays, ConcurrentWalksOfOneGraphAreIndependent) {
  const auto trainer = [](Transport transport, int rank) {
    Options options = served_->TrainerOptions(transport, rank, 2);
    // The job of another test, with one trainer, may not have ended yet.
    options.job_id = "threads";
    return DistGraph(Initialize(options), "hubs");
  };
  const DistGraph mapped = trainer(Transport::kAuto, 0), remote = trainer(Transport::kTcp, 1);
  const auto seeds = SomeNodes(200, 4);
  const Walks expected = Node2vecWalk(Standalone(), seeds, 0.5, 2, 3);
  std::vector<Walks> found(4);
  std::vector<std::thread> threads;
  for (size_t t = 0; t < found.size(); t++) {
    threads.emplace_back(
        [&, t] { found[t] = Node2vecWalk(t % 2 ? mapped : remote, seeds, 0.5, 2, 3); });
  }
  for (std::thread& thread : threads) thread.join();
  for (const Walks& walks : found) EXPECT_EQ(walks.nodes, expected.nodes);
}

}  // namespace
}  // namespace graphd::testing
