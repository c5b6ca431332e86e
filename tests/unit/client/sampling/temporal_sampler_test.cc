// SPDX-License-Identifier: Apache-2.0
// Tests temporal trees against the known edges, and for equality over all transports.
#include "graphd/temporal_sampler.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <optional>
#include <set>

#include "base/index.h"
#include "tests/support/served_graph_fixture.h"
#include "tests/unit/client/batch_checks.h"
#include "tests/unit/client/sampling_graph.h"

namespace graphd::testing {
namespace {

class Temporal : public ServedSamplingGraph {
 protected:
  // Returns seeds of both types; paper 1 occurs three times, twice at the same time.
  static BatchRequest Request() {
    BatchRequest request{{{3, 17, 3}, {1, 9, 1, 1, 30}}, 8};
    request.seed_times = {{30, 12, -5}, {20, 33, 5, 20, 40}};
    request.seed_real_times = {{7, 3.25, -1}, {5, 9.75, 1.25, 5, 20}};
    request.input_features = {{0, "feat"}, {1, "feat"}};
    request.seed_features = {{1, "label"}};
    return request;
  }
};

// Expects each tree to have each node once, and edges within one tree only.
void ExpectTrees(const Schema& schema, const Block& block) {
  for (size_t t = 0; t < block.src_nodes.size(); t++) {
    ASSERT_EQ(block.roots[t].size(), block.src_nodes[t].size());
    std::set<std::pair<int64_t, int64_t>> seen;
    for (size_t i = 0; i < block.roots[t].size(); i++) {
      ASSERT_TRUE(seen.emplace(block.roots[t][i], block.src_nodes[t][i]).second);
    }
  }
  for (const BlockEdges& edges : block.edges) {
    const auto& src = block.roots[Index(schema.src_type(edges.etype))];
    const auto& dst = block.roots[Index(schema.dst_type(edges.etype))];
    for (size_t v = 0; v + 1 < edges.indptr.size(); v++) {
      for (int64_t k = edges.indptr[v]; k < edges.indptr[v + 1]; k++) {
        ASSERT_EQ(src[Index(edges.indices[Index(k)])], dst[v]);
      }
    }
  }
}

// Compares every row of the block with the known edges at the time of its root.
void ExpectPast(const Schema& schema, const Block& block, const SamplingRule& how,
                const std::vector<std::vector<KnownEdge>>& known, const BatchRequest& request) {
  std::vector<int64_t> times;
  std::vector<double> whens;
  for (const auto& of_type : request.seed_times) {
    times.insert(times.end(), of_type.begin(), of_type.end());
  }
  for (const auto& of_type : request.seed_real_times) {
    whens.insert(whens.end(), of_type.begin(), of_type.end());
  }
  for (const BlockEdges& edges : block.edges) {
    const size_t src = Index(schema.src_type(edges.etype)),
                 dst = Index(schema.dst_type(edges.etype));
    const size_t e = Index(edges.etype);
    for (size_t v = 0; v + 1 < edges.indptr.size(); v++) {
      const size_t root = Index(block.roots[dst][v]);
      auto past =
          Eligible(known[e], how, block.src_nodes[dst][v], times[root], whens[root],
                   e < request.exclude.size() ? request.exclude[e] : std::vector<int64_t>{});
      const size_t count = Index(edges.indptr[v + 1] - edges.indptr[v]);
      const size_t fanout = how.fanout < 0 ? SIZE_MAX : Index(how.fanout);
      ASSERT_EQ(count, how.replace && !past.empty() ? fanout : std::min(fanout, past.size()));
      std::stable_sort(past.begin(), past.end(), [&](const auto& a, const auto& b) {
        return how.column == "time" ? a.time > b.time : a.when > b.when;
      });
      for (size_t k = 0; k < count; k++) {
        const size_t at = Index(edges.indptr[v]) + k;
        const int64_t id = edges.edge_ids[at];
        ASSERT_EQ(block.src_nodes[src][Index(edges.indices[at])], known[e][Index(id)].src);
        if (how.method == SamplingMethod::kTemporalRecent) {
          ASSERT_EQ(id, past[k].id);
        } else {
          ASSERT_TRUE(std::any_of(past.begin(), past.end(),
                                  [&](const KnownEdge& edge) { return edge.id == id; }));
        }
      }
    }
  }
}

TEST_F(Temporal, EveryHopTakesEdgesOlderThanTheRootsTime) {
  for (const char* column : {"time", "when"}) {
    for (bool recent : {true, false}) {
      for (bool inclusive : {true, false}) {
        for (int fanout : {kAllNeighbors, 2}) {
          const bool replace = !recent && !inclusive && fanout > 0;
          SamplingRule how{
              0,
              Direction::kIn,
              recent ? SamplingMethod::kTemporalRecent : SamplingMethod::kTemporalUniform,
              fanout,
              replace,
              column,
              true,
              inclusive};
          const TemporalSampler sampler({fanout, fanout, fanout},
                                        {column, recent, replace, inclusive, true});
          const BatchRequest request = Request();
          const MiniBatch batch = sampler.Sample(*alone_, request);
          ASSERT_EQ(batch.seeds, request.seeds);
          ExpectChain(batch);
          for (const Block& block : batch.blocks) {
            ExpectTrees(alone_->schema(), block);
            ExpectPast(alone_->schema(), block, how, known_, request);
          }
          EXPECT_GT(batch.blocks[0].num_edges(), batch.blocks[2].num_edges());
        }
      }
    }
  }
}

TEST_F(Temporal, RootsArePositionsAmongAllSeeds) {
  const MiniBatch batch = TemporalSampler({2, 2}, {"time"}).Sample(*alone_, Request());
  const Block& last = batch.blocks[1];
  const std::vector<int64_t> authors(last.roots[0].begin(), last.roots[0].begin() + 3);
  const std::vector<int64_t> papers(last.roots[1].begin(), last.roots[1].begin() + 5);
  EXPECT_EQ(authors, (std::vector<int64_t>{0, 1, 2}));
  EXPECT_EQ(papers, (std::vector<int64_t>{3, 4, 5, 6, 7}));
}

TEST_F(Temporal, ExcludedEdgesAreNotInTheTrees) {
  BatchRequest request = Request();
  request.exclude.resize(4);
  for (const KnownEdge& edge : known_[2]) {
    if (edge.id % 3 == 0) request.exclude[2].push_back(edge.id);
  }
  const TemporalSampler sampler({3, 3}, {.column = "time", .edge_ids = true});
  const SamplingRule how{0, Direction::kIn, SamplingMethod::kTemporalRecent, 3, false, "time"};
  for (const Block& block : sampler.Sample(*alone_, request).blocks) {
    ExpectPast(alone_->schema(), block, how, known_, request);
  }
}

TEST_F(Temporal, TreesAreTheSameForEveryTransport) {
  for (bool recent : {true, false}) {
    for (const char* column : {"time", "when"}) {
      const TemporalSampler sampler({3, 2}, {.column = column, .recent = recent, .edge_ids = true});
      const MiniBatch expected = sampler.Sample(*alone_, Request());
      for (Transport transport : {Transport::kAuto, Transport::kUnix, Transport::kTcp}) {
        const DistGraph graph(Initialize(served_->TrainerOptions(transport)), "hubs");
        ExpectSameBatch(expected, sampler.Sample(graph, Request()));
      }
    }
  }
}

TEST_F(Temporal, FeaturesAreThoseOfEachTreesNodes) {
  const MiniBatch batch = TemporalSampler({3, 2}, {"time"}).Sample(*alone_, Request());
  for (NodeTypeId t = 0; t < 2; t++) {
    const Tensor expected = alone_->ndata("feat", t).Read(batch.input_nodes(t));
    const Tensor& rows = batch.input_features[Index(t)];
    ASSERT_EQ(rows.shape(), expected.shape());
    EXPECT_EQ(memcmp(rows.data(), expected.data(), rows.num_bytes()), 0);
  }
  EXPECT_EQ(batch.seed_features[0].num_rows(), 5);
}

TEST_F(Temporal, EqualSeedsHaveSeparateReproducibleTrees) {
  const TemporalSampler sampler({4, 4}, {.column = "time", .recent = false, .edge_ids = true});
  BatchRequest request{{{}, std::vector<int64_t>(40, 1)}, 8};
  request.seed_times = {{}, std::vector<int64_t>(40, 100)};
  const MiniBatch batch = sampler.Sample(*alone_, request);
  const BlockEdges& edges = batch.blocks[1].edges[2];
  std::set<std::set<int64_t>> samples;
  for (size_t v = 0; v < 40; v++) {
    samples.insert(
        {edges.edge_ids.begin() + edges.indptr[v], edges.edge_ids.begin() + edges.indptr[v + 1]});
  }
  EXPECT_GT(samples.size(), 5u);
  ExpectSameBatch(batch, sampler.Sample(*alone_, request));
}

TEST_F(Temporal, WithoutAColumnTreesHaveAnyEdgesAndSeedsHaveNoTimes) {
  BatchRequest request = Request();
  request.seed_times.clear();
  request.seed_real_times.clear();
  const TemporalSampler sampler({kAllNeighbors, 3},
                                {.column = "", .recent = false, .edge_ids = true});
  const MiniBatch batch = sampler.Sample(*alone_, request);
  EXPECT_EQ(batch.seeds, request.seeds);
  int64_t edges = 0;
  for (const Block& block : batch.blocks) {
    ExpectTrees(alone_->schema(), block);
    for (const BlockEdges& of_type : block.edges) edges += of_type.indptr.back();
  }
  EXPECT_GT(edges, 20);
  for (Transport transport : {Transport::kAuto, Transport::kTcp}) {
    const DistGraph graph(Initialize(served_->TrainerOptions(transport)), "hubs");
    ExpectSameBatch(batch, sampler.Sample(graph, request));
  }
}

TEST_F(Temporal, EdgeTypesWithoutTimesAreAlwaysSampled) {
  RawGraph raw = SamplingGraph();
  raw.edges[3].features.clear();
  const ServedGraphFixture files(raw, {}, 2);
  const DistGraph graph(Initialize(files.StandaloneOptions()));
  BatchRequest request{{{0, 1, 2, 3, 4, 5}, {0, 1, 2}}, 1};
  request.seed_times = {{-9, -9, -9, -9, -9, -9}, {-9, -9, -9}};  // before all edges
  const MiniBatch batch =
      TemporalSampler({kAllNeighbors, kAllNeighbors}, {"time"}).Sample(graph, request);
  const auto known = KnownEdges(raw, graph);
  const auto expected = std::count_if(known[3].begin(), known[3].end(),
                                      [](const KnownEdge& edge) { return edge.dst < 6; });
  EXPECT_EQ(batch.blocks[1].num_edges(), expected);
  EXPECT_GT(expected, 0);
}

TEST_F(Temporal, BadRequestsAreRefused) {
  const auto code_of = [&](auto&& f) -> std::optional<ErrorCode> {
    try {
      f();
    } catch (const Error& error) {
      return error.code();
    }
    return std::nullopt;
  };
  const auto with = [&](auto&& change, const char* column = "time") {
    BatchRequest request = Request();
    change(request);
    return code_of([&] { TemporalSampler({2, 2}, {column}).Sample(*alone_, request); });
  };
  EXPECT_EQ(code_of([] { TemporalSampler({2, 2}, {}); }), ErrorCode::kInvalid);
  EXPECT_EQ(code_of([] { TemporalSampler({2, -3}, {"time"}); }), ErrorCode::kInvalid);
  EXPECT_EQ(code_of([] { TemporalSampler({2, 2}, {"time", true, true}); }), ErrorCode::kInvalid);
  EXPECT_EQ(with([](auto&) {}, "nothing"), ErrorCode::kNotFound);
  EXPECT_EQ(with([](auto& r) { r.seeds[1][0] = kSamplingPapers; }), ErrorCode::kInvalid);
  EXPECT_EQ(with([](auto& r) { r.seeds[1].push_back(2); }), ErrorCode::kInvalid);
  EXPECT_EQ(with([](auto& r) { r.seed_times = r.seed_times = {{1}, {2}}; }), ErrorCode::kInvalid);
  EXPECT_EQ(with([](auto& r) { r.seed_times.push_back({}), r.seed_times.push_back({}); }),
            ErrorCode::kInvalid);
  EXPECT_EQ(with([](auto& r) { r.seed_times.clear(), r.seed_real_times.clear(); }),
            ErrorCode::kInvalid);
  EXPECT_EQ(with([](auto& r) { r.seed_times.clear(); }), ErrorCode::kInvalid) << "integer times";
  EXPECT_EQ(with(
                [](auto& r) {
                  r.seed_real_times.clear();
                  r.seed_times[0][0] = (int64_t{1} << 53) + 1;
                },
                "when"),
            ErrorCode::kInvalid);
  EXPECT_EQ(with([](auto& r) { r.seed_real_times.clear(); }, "when"), std::nullopt)
      << "integer times are accepted for a floating-point column";
  EXPECT_EQ(with([](auto& r) { r.seed_real_times[1][2] = NAN; }, "when"), std::nullopt);
}

}  // namespace
}  // namespace graphd::testing
