// SPDX-License-Identifier: Apache-2.0
// Tests loaders whose seeds have query times.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <map>
#include <numeric>
#include <set>

#include "graphd/edge_data_loader.h"
#include "graphd/temporal_sampler.h"
#include "tests/unit/client/batch_checks.h"
#include "tests/unit/client/expect_error.h"
#include "tests/unit/client/sampling_graph.h"

namespace graphd::testing {
namespace {

using ::testing::IsEmpty;
using Ids = std::vector<int64_t>;
using Event = std::pair<int64_t, int64_t>;  // node, time

class TimedLoader : public ServedSamplingGraph {
 protected:
  // Returns 90 papers and 30 authors, most of them several times, with pairwise different times.
  static std::vector<Ids> Nodes() {
    std::vector<Ids> nids(2);
    for (int64_t i = 0; i < 30; i++) nids[0].push_back(i * 7 % kSamplingAuthors % 11);
    for (int64_t i = 0; i < 90; i++) nids[1].push_back(i * i % kSamplingPapers);
    return nids;
  }
  static std::vector<Ids> Times() {
    std::vector<Ids> times{Ids(30), Ids(90)};
    std::iota(times[0].begin(), times[0].end(), -10);
    std::iota(times[1].begin(), times[1].end(), -50);
    return times;
  }
  // Returns the batch that the sampler makes for the same seeds when it is called directly.
  static MiniBatch Direct(const BlockSampler& sampler, const NodeBatch& batch) {
    BatchRequest request{batch.seeds, 0};
    request.seed_times = batch.seed_times;
    request.seed_real_times = batch.seed_real_times;
    return sampler.Sample(*alone_, request);
  }
};

TEST_F(TimedLoader, SeedsKeepTheirTimesInShuffledBatches) {
  const TemporalSampler sampler({3, 3}, {.column = "time", .edge_ids = true});
  const auto nids = Nodes(), times = Times();
  for (int workers : {0, 3}) {
    const DistGraph graph(Initialize(served_->TrainerOptions(Transport::kTcp)), "hubs");
    DistNodeDataLoader loader(
        graph, nids, sampler,
        {.batch_size = 25, .shuffle = true, .num_workers = workers, .seed_times = times});
    std::vector<std::multiset<Event>> seen(2), expected(2);
    for (loader.StartEpoch(1); auto batch = loader.Next();) {
      ExpectSameBatch(Direct(sampler, *batch), *batch);
      EXPECT_THAT(batch->seed_real_times, IsEmpty());
      for (size_t t = 0; t < 2; t++) {
        ASSERT_EQ(batch->seeds[t].size(), batch->seed_times[t].size());
        for (size_t i = 0; i < batch->seeds[t].size(); i++) {
          seen[t].emplace(batch->seeds[t][i], batch->seed_times[t][i]);
        }
      }
    }
    for (size_t t = 0; t < 2; t++) {
      for (size_t i = 0; i < nids[t].size(); i++) expected[t].emplace(nids[t][i], times[t][i]);
      EXPECT_EQ(seen[t], expected[t]);
    }
  }
}

TEST_F(TimedLoader, TimesMayBeFloatingPointNumbersOfOneType) {
  const TemporalSampler sampler({2}, {.column = "when"});
  LoaderOptions options{.batch_size = 4, .ntype = 1};
  options.seed_real_times = {{}, {0.5, 3.25, 9.5, 1.75, 0.5, 8}};
  DistNodeDataLoader loader(*alone_, Ids{7, 7, 3, 4, 7, 9}, sampler, options);
  loader.StartEpoch(0);
  loader.Next();
  const auto batch = loader.Next();
  ASSERT_TRUE(batch);
  EXPECT_EQ(batch->seeds[1], (Ids{7, 9}));
  EXPECT_EQ(batch->seed_real_times[1], (std::vector<double>{0.5, 8}));
  ExpectSameBatch(Direct(sampler, *batch), *batch);
}

TEST_F(TimedLoader, EndpointsHaveTheTimeOfTheirEdge) {
  const EdgeTypeId cites = 2;
  const auto& known = known_[2];
  Ids eids, times;
  for (const KnownEdge& edge : known) {
    eids.push_back(edge.id);
    times.push_back(edge.time);
  }
  const TemporalSampler sampler({3}, {.column = "time", .edge_ids = true});
  EdgeLoaderOptions edges;
  edges.negative_sampler = std::make_shared<negative_sampler::PerSourceUniform>(2);
  LoaderOptions options{.batch_size = 40, .shuffle = true, .num_workers = 2};
  options.seed_times = {{}, {}, times, {}};
  DistEdgeDataLoader loader(*alone_, eids, cites, sampler, options, edges);
  size_t delivered = 0;
  for (loader.StartEpoch(0); auto batch = loader.Next();) {
    ExpectSameBatch(Direct(sampler, *batch), *batch);
    std::vector<Event> papers;
    for (size_t i = 0; i < batch->seeds[1].size(); i++) {
      papers.emplace_back(batch->seeds[1][i], batch->seed_times[1][i]);
    }
    EXPECT_EQ(std::set<Event>(papers.begin(), papers.end()).size(), papers.size());
    const PairEdges &positive = batch->positive[2], &negative = batch->negative[2];
    ASSERT_EQ(negative.src.size(), 2 * positive.src.size());
    for (size_t i = 0; i < positive.src.size(); i++) {
      const KnownEdge& edge = known[static_cast<size_t>(positive.edge_ids[i])];
      const auto paper = [&](int64_t at) { return papers[static_cast<size_t>(at)]; };
      EXPECT_EQ(paper(positive.src[i]), Event(edge.src, edge.time));
      EXPECT_EQ(paper(positive.dst[i]), Event(edge.dst, edge.time));
      for (size_t k : {2 * i, 2 * i + 1}) {
        EXPECT_EQ(paper(negative.src[k]), Event(edge.src, edge.time));
        EXPECT_EQ(paper(negative.dst[k]).second, edge.time);
      }
    }
    delivered += positive.src.size();
  }
  EXPECT_EQ(delivered, known.size());
}

TEST_F(TimedLoader, RejectsTimesThatDoNotFit) {
  const TemporalSampler sampler({2}, {.column = "time"});
  const auto nodes = [&](std::vector<Ids> times) {
    LoaderOptions options;
    options.seed_times = std::move(times);
    DistNodeDataLoader loader(*alone_, std::vector<Ids>{{1}, {2, 3}}, sampler, options);
    loader.StartEpoch(0);
    loader.Next();
  };
  nodes({{1}, {2, 3}});
  ExpectError([&] { nodes({{1}, {2}}); }, ErrorCode::kInvalid, "1 times for 2 nodes of type");
  ExpectError([&] { nodes({{1}}); }, ErrorCode::kInvalid, "0 times for 2 nodes");
  ExpectError([&] { nodes({{1}, {2, 3}, {}}); }, ErrorCode::kInvalid, "times of 3 node types");
  ExpectError([&] { nodes({}); }, ErrorCode::kInvalid, "0 times for 1 seeds");
  // A sampler that has each node once cannot choose between the times of a node.
  LoaderOptions options{.seed_times = {{}, {5, 6, 7}}};
  DistNodeDataLoader twice(*alone_, std::vector<Ids>{{}, {2, 3, 2}}, NeighborSampler({2}), options);
  twice.StartEpoch(0);
  ExpectError([&] { twice.Next(); }, ErrorCode::kInvalid, "kept 2 of 3 seeds");
}

}  // namespace
}  // namespace graphd::testing
