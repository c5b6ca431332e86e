// SPDX-License-Identifier: Apache-2.0
// Tests batches of edges: positive and negative edges, and the edges that blocks must not contain.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <numeric>
#include <set>

#include "graphd/edge_data_loader.h"
#include "tests/support/served_graph_fixture.h"

namespace graphd::testing {
namespace {

using ::testing::HasSubstr;
using Pair = std::pair<int64_t, int64_t>;

class EdgeLoader : public ::testing::Test {
 protected:
  static void SetUpTestSuite() {
    served_ = std::make_unique<ServedGraphFixture>(TypedGraph(200, 300, 5),
                                                   std::vector<std::vector<int>>{{0}, {1}});
  }
  static void TearDownTestSuite() { served_.reset(); }
  static DistGraph Standalone() { return DistGraph(Initialize(served_->StandaloneOptions())); }
  static DistGraph Connected(Transport transport) {
    return DistGraph(Initialize(served_->TrainerOptions(transport)));
  }
  static std::vector<int64_t> All(int64_t count) {
    std::vector<int64_t> ids(static_cast<size_t>(count));
    std::iota(ids.begin(), ids.end(), 0);
    return ids;
  }
  static std::vector<EdgeBatch> Epoch(DistEdgeDataLoader& loader, int64_t epoch = 0) {
    std::vector<EdgeBatch> batches;
    for (loader.StartEpoch(epoch); auto batch = loader.Next();) {
      batches.push_back(std::move(*batch));
    }
    return batches;
  }
  // Returns the (src, dst) pairs of a batch as type-wise ids.
  static std::vector<Pair> Ends(const DistGraph& graph, const EdgeBatch& batch, EdgeTypeId e,
                                const std::vector<PairEdges>& pairs) {
    const auto& src = batch.seeds[static_cast<size_t>(graph.schema().src_type(e))];
    const auto& dst = batch.seeds[static_cast<size_t>(graph.schema().dst_type(e))];
    const PairEdges& of_type = pairs[static_cast<size_t>(e)];
    std::vector<Pair> ends;
    for (size_t i = 0; i < of_type.src.size(); i++) {
      ends.emplace_back(src[static_cast<size_t>(of_type.src[i])],
                        dst[static_cast<size_t>(of_type.dst[i])]);
    }
    return ends;
  }
  // Returns how many sampled edges of a type satisfy a predicate of (id, src, dst).
  template <class F>
  static int Count(const DistGraph& graph, const EdgeBatch& batch, EdgeTypeId e, F&& f) {
    int count = 0;
    for (const Block& block : batch.blocks) {
      const BlockEdges& edges = block.edges[static_cast<size_t>(e)];
      const auto& src = block.src_nodes[static_cast<size_t>(graph.schema().src_type(e))];
      const auto dst = block.dst_nodes(graph.schema().dst_type(e));
      for (size_t v = 0; v + 1 < edges.indptr.size(); v++) {
        for (auto k = static_cast<size_t>(edges.indptr[v]);
             k < static_cast<size_t>(edges.indptr[v + 1]); k++) {
          count += f(edges.edge_ids[k], src[static_cast<size_t>(edges.indices[k])], dst[v]);
        }
      }
    }
    return count;
  }
  static std::unique_ptr<ServedGraphFixture> served_;
};

std::unique_ptr<ServedGraphFixture> EdgeLoader::served_;

const NeighborSampler kFull({kAllNeighbors, kAllNeighbors}, false, /*edge_ids=*/true);

TEST_F(EdgeLoader, DeliversEveryEdgeOnceWithItsEndsAndNegatives) {
  const DistGraph graph = Standalone();
  const auto cites = graph.schema().EdgeTypeIdOf("cites");
  const auto writes = graph.schema().EdgeTypeIdOf("writes");
  std::vector<std::vector<int64_t>> eids(4);
  eids[static_cast<size_t>(cites)] = All(graph.num_edges(cites));
  eids[static_cast<size_t>(writes)] = All(graph.num_edges(writes));
  EdgeLoaderOptions edges;
  edges.negative_sampler = std::make_shared<negative_sampler::Uniform>(3);
  edges.seed_edge_features = {{cites, "weight"}};
  DistEdgeDataLoader loader(graph, eids, NeighborSampler({2}),
                            {.batch_size = 100, .shuffle = true, .num_workers = 2}, edges);
  std::vector<std::multiset<int64_t>> seen(4);
  for (const EdgeBatch& batch : Epoch(loader)) {
    for (EdgeTypeId e : {cites, writes}) {
      const auto& ids = batch.positive[static_cast<size_t>(e)].edge_ids;
      seen[static_cast<size_t>(e)].insert(ids.begin(), ids.end());
      const EdgeEnds ends = graph.FindEdges(ids, e);
      const auto positive = Ends(graph, batch, e, batch.positive);
      const auto negative = Ends(graph, batch, e, batch.negative);
      ASSERT_EQ(positive.size(), ids.size());
      ASSERT_EQ(negative.size(), 3 * ids.size());
      for (size_t i = 0; i < ids.size(); i++) {
        EXPECT_EQ(positive[i], Pair(ends.src[i], ends.dst[i]));
        for (size_t k = 0; k < 3; k++) EXPECT_EQ(negative[3 * i + k].first, ends.src[i]);
      }
    }
    const auto& cited = batch.positive[static_cast<size_t>(cites)].edge_ids;
    const Tensor expected = graph.edata("weight", cites).Read(cited);
    ASSERT_EQ(batch.seed_edge_features[0].num_bytes(), expected.num_bytes());
    EXPECT_EQ(memcmp(batch.seed_edge_features[0].data(), expected.data(), expected.num_bytes()), 0);
    for (size_t t = 0; t < 2; t++) {
      const auto& seeds = batch.seeds[t];
      EXPECT_EQ(std::set<int64_t>(seeds.begin(), seeds.end()).size(), seeds.size());
      EXPECT_TRUE(std::equal(seeds.begin(), seeds.end(),
                             batch.blocks.back().dst_nodes(static_cast<NodeTypeId>(t)).begin()));
    }
  }
  for (EdgeTypeId e : {cites, writes}) {
    const auto all = All(graph.num_edges(e));
    EXPECT_EQ(seen[static_cast<size_t>(e)], std::multiset<int64_t>(all.begin(), all.end()));
  }
}

TEST_F(EdgeLoader, ExcludedEdgesAreInNoBlock) {
  for (Transport transport : {Transport::kAuto, Transport::kTcp}) {
    const DistGraph graph = Connected(transport);
    const auto cites = graph.schema().EdgeTypeIdOf("cites");
    int own[4] = {}, reversed[4] = {};
    for (ExcludeEdges exclude : {ExcludeEdges::kNone, ExcludeEdges::kSelf,
                                 ExcludeEdges::kReverseTypes, ExcludeEdges::kReverseId}) {
      EdgeLoaderOptions edges;
      edges.exclude = exclude;
      edges.reverse_etypes = {{cites, cites}};
      // Any mapping shows whether it is applied; here each edge maps to the next one.
      edges.reverse_eids.resize(4);
      for (int64_t id = 0; id < graph.num_edges(cites); id++) {
        edges.reverse_eids[static_cast<size_t>(cites)].push_back((id + 1) % graph.num_edges(cites));
      }
      DistEdgeDataLoader loader(graph, All(200), cites, kFull, {.batch_size = 50}, edges);
      for (const EdgeBatch& batch : Epoch(loader)) {
        const auto& ids = batch.positive[static_cast<size_t>(cites)].edge_ids;
        const std::set<int64_t> mine(ids.begin(), ids.end());
        std::set<int64_t> after;
        for (int64_t id : ids) after.insert((id + 1) % graph.num_edges(cites));
        std::set<Pair> back;
        for (const auto& [u, v] : Ends(graph, batch, cites, batch.positive)) back.emplace(v, u);
        const auto kind = static_cast<size_t>(exclude);
        own[kind] += Count(graph, batch, cites,
                           [&](int64_t id, int64_t, int64_t) { return mine.contains(id); });
        reversed[kind] += Count(graph, batch, cites, [&](int64_t id, int64_t u, int64_t v) {
          return exclude == ExcludeEdges::kReverseId ? after.contains(id) : back.contains({u, v});
        });
      }
    }
    const auto of = [](int* counts, ExcludeEdges e) { return counts[static_cast<size_t>(e)]; };
    EXPECT_GT(of(own, ExcludeEdges::kNone), 100);
    EXPECT_GT(of(reversed, ExcludeEdges::kNone), 100);
    EXPECT_EQ(of(own, ExcludeEdges::kSelf), 0);
    EXPECT_GT(of(reversed, ExcludeEdges::kSelf), 50);
    EXPECT_EQ(of(own, ExcludeEdges::kReverseTypes), 0);
    EXPECT_EQ(of(reversed, ExcludeEdges::kReverseTypes), 0);
    EXPECT_EQ(of(own, ExcludeEdges::kReverseId), 0);
    EXPECT_EQ(of(reversed, ExcludeEdges::kReverseId), 0);
  }
}

TEST_F(EdgeLoader, BatchesAreTheSameForEveryTransport) {
  const auto epoch = [](const DistGraph& graph, int workers) {
    EdgeLoaderOptions edges;
    edges.exclude = ExcludeEdges::kReverseTypes;
    edges.reverse_etypes = {{2, 2}};
    edges.negative_sampler = std::make_shared<negative_sampler::PerSourceUniform>(1);
    LoaderOptions options{.batch_size = 64, .shuffle = true, .seed = 3, .num_workers = workers};
    options.input_features = {{1, "feat"}};
    DistEdgeDataLoader loader(graph, All(400), 2, NeighborSampler({3, 3}, false, true), options,
                              edges);
    return Epoch(loader, 1);
  };
  const auto expected = epoch(Standalone(), 0);
  ASSERT_EQ(expected.size(), 7u);
  for (Transport transport : {Transport::kAuto, Transport::kUnix, Transport::kTcp}) {
    const auto batches = epoch(Connected(transport), 2);
    ASSERT_EQ(batches.size(), expected.size());
    for (size_t i = 0; i < batches.size(); i++) {
      EXPECT_EQ(batches[i].seeds, expected[i].seeds);
      EXPECT_EQ(batches[i].negative[2].dst, expected[i].negative[2].dst);
      for (size_t l = 0; l < 2; l++) {
        EXPECT_EQ(batches[i].blocks[l].src_nodes, expected[i].blocks[l].src_nodes);
        EXPECT_EQ(batches[i].blocks[l].edges[2].edge_ids, expected[i].blocks[l].edges[2].edge_ids);
      }
      const Tensor &a = batches[i].input_features[0], &b = expected[i].input_features[0];
      ASSERT_EQ(a.num_bytes(), b.num_bytes());
      EXPECT_EQ(memcmp(a.data(), b.data(), a.num_bytes()), 0);
    }
  }
}

TEST_F(EdgeLoader, NothingIsExcludedFromAnotherGraph) {
  const DistGraph graph = Standalone();
  EdgeLoaderOptions edges;
  edges.exclude = ExcludeEdges::kSelf;
  edges.g_sampling = graph;
  DistEdgeDataLoader loader(graph, All(50), 2, kFull, {.batch_size = 50}, edges);
  const auto batches = Epoch(loader);
  const auto mine = [](int64_t id, int64_t, int64_t) { return id < 50; };
  EXPECT_GE(Count(graph, batches.at(0), 2, mine), 50);
}

TEST_F(EdgeLoader, BlockFeaturesComeFromTheSampledGraph) {
  const DistGraph graph = Standalone();
  // A graph with the same nodes and other edges, which have other weights.
  const ServedGraphFixture other(TypedGraph(200, 300, 9), {});
  const DistGraph sampled(Initialize(other.StandaloneOptions()));
  EdgeLoaderOptions edges;
  edges.g_sampling = sampled;
  edges.seed_edge_features = {{2, "weight"}};
  LoaderOptions options{.batch_size = 50, .edge_features = {{2, "weight"}}};
  options.input_features = {{1, "feat"}};
  DistEdgeDataLoader loader(graph, All(50), 2, kFull, options, edges);
  const auto batch = std::move(Epoch(loader).at(0));
  const auto expect_same = [](const Tensor& got, const Tensor& expected) {
    ASSERT_EQ(got.num_bytes(), expected.num_bytes());
    EXPECT_EQ(memcmp(got.data(), expected.data(), got.num_bytes()), 0);
  };
  for (size_t l = 0; l < 2; l++) {
    const auto& ids = batch.blocks[l].edges[2].edge_ids;
    expect_same(batch.edge_features[l][0], sampled.edata("weight", 2).Read(ids));
  }
  expect_same(batch.input_features[0], sampled.ndata("feat", 1).Read(batch.input_nodes(1)));
  expect_same(batch.seed_edge_features[0],
              graph.edata("weight", 2).Read(batch.positive[2].edge_ids));
}

// A negative sampler that returns the edges with which it was made.
class FixedNegatives final : public NegativeSampler {
 public:
  explicit FixedNegatives(NegativeEdges edges) : edges_(std::move(edges)) {}
  NegativeEdges Sample(const DistGraph&, EdgeTypeId, std::span<const int64_t>,
                       std::span<const int64_t>, uint64_t) const override {
    return edges_;
  }

 private:
  NegativeEdges edges_;
};

TEST_F(EdgeLoader, NegativesOfAnySamplerAreChecked) {
  const DistGraph graph = Standalone();
  const auto error = [&](NegativeEdges negatives) {
    EdgeLoaderOptions edges;
    edges.negative_sampler = std::make_shared<FixedNegatives>(std::move(negatives));
    DistEdgeDataLoader loader(graph, All(10), 2, NeighborSampler({2}), {}, edges);
    try {
      Epoch(loader);
    } catch (const Error& caught) {
      EXPECT_EQ(caught.code(), ErrorCode::kInvalid);
      return std::string(caught.what());
    }
    return std::string("no error");
  };
  EXPECT_EQ(error({{0, 299}, {1, 0}}), "no error");
  EXPECT_THAT(error({{0, -1}, {1, 0}}), HasSubstr("negative source -1 at position 1"));
  EXPECT_THAT(error({{0}, {int64_t{1} << 40}}), HasSubstr("negative destination 1099511627776"));
  EXPECT_THAT(error({{0, 1}, {1}}), HasSubstr("2 sources and 1 destinations"));
}

TEST_F(EdgeLoader, TheConstructorRejectsInvalidArguments) {
  const DistGraph graph = Standalone();
  const auto error = [&](std::vector<int64_t> eids, EdgeTypeId e, EdgeLoaderOptions edges) {
    try {
      DistEdgeDataLoader loader(graph, std::move(eids), e, NeighborSampler({2}), {}, edges);
    } catch (const Error& caught) {
      return std::string(caught.what());
    }
    return std::string("no error");
  };
  EdgeLoaderOptions reverse_id, no_types, misfit, feature;
  reverse_id.exclude = ExcludeEdges::kReverseId;
  no_types.exclude = misfit.exclude = ExcludeEdges::kReverseTypes;
  misfit.reverse_etypes = {{1, 2}};
  feature.seed_edge_features = {{2, "nothing"}};
  const ServedGraphFixture small(TypedGraph(200, 20, 5), {});
  EdgeLoaderOptions other_nodes;
  other_nodes.g_sampling = DistGraph(Initialize(small.StandaloneOptions()));
  EXPECT_THAT(error({-1}, 2, {}), HasSubstr("edge -1"));
  EXPECT_THAT(error({1 << 20}, 2, {}), HasSubstr("edge 1048576"));
  EXPECT_THAT(error({0}, 4, {}), HasSubstr("edge type 4"));
  EXPECT_THAT(error({0}, 2, reverse_id), HasSubstr("has 0 ids"));
  EXPECT_THAT(error({0}, 2, no_types), HasSubstr("no reverse_etypes"));
  EXPECT_THAT(error({0}, 2, misfit), HasSubstr("is not a reverse of"));
  EXPECT_THAT(error({0}, 2, feature), HasSubstr("no feature 'nothing'"));
  EXPECT_THAT(error({0}, 2, other_nodes), HasSubstr("they must be the same"));
  EXPECT_EQ(error({}, 2, {}), "no error");
}

}  // namespace
}  // namespace graphd::testing
