// SPDX-License-Identifier: Apache-2.0
// Tests queries about edges in standalone mode, through mapped memory and over TCP: the answers
// match the graph before it was partitioned.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <map>
#include <set>

#include "base/rng.h"
#include "client/link/control.h"
#include "graphd/dist_graph.h"
#include "graphd/sampling.h"
#include "graphd/subgraph.h"
#include "tests/support/served_graph_fixture.h"

namespace graphd::testing {
namespace {

using ::testing::HasSubstr;
using ::testing::UnorderedElementsAreArray;

constexpr int64_t kAuthors = 300, kPapers = 500;
enum Access { kStandalone, kMapped, kOverTcp };

// The edges of the typed graph in its new ids, which are read from its orig_id features.
struct Whole {
  RawGraph raw = TypedGraph(kAuthors, kPapers, 7);
  // The (src, dst) of each edge by [etype][new edge id].
  std::vector<std::vector<std::pair<int64_t, int64_t>>> edges;

  explicit Whole(const DistGraph& graph) {
    std::vector<std::vector<int64_t>> new_ids;
    for (NodeTypeId t = 0; t < raw.schema.num_ntypes(); t++) {
      const Tensor orig = graph.ndata("orig_id", t).Slice(0, graph.num_nodes(t));
      auto& ids = new_ids.emplace_back(orig.num_rows());
      for (int64_t i = 0; i < orig.num_rows(); i++) {
        ids[static_cast<size_t>(orig.as<int64_t>()[static_cast<size_t>(i)])] = i;
      }
    }
    for (EdgeTypeId e = 0; e < raw.schema.num_etypes(); e++) {
      const auto& src = new_ids[static_cast<size_t>(raw.schema.src_type(e))];
      const auto& dst = new_ids[static_cast<size_t>(raw.schema.dst_type(e))];
      std::vector<std::pair<int64_t, int64_t>> by_orig;
      raw.edges[static_cast<size_t>(e)].ForEach(
          [&](uint64_t, uint64_t u, uint64_t v) { by_orig.emplace_back(src[u], dst[v]); });
      auto& of_type = edges.emplace_back();
      if (graph.num_edges(e) == 0) continue;
      const Tensor orig = graph.edata("orig_id", e).Slice(0, graph.num_edges(e));
      for (int64_t id : orig.as<int64_t>()) of_type.push_back(by_orig[static_cast<size_t>(id)]);
    }
  }
};

class Queries : public ::testing::TestWithParam<Access> {
 protected:
  static void SetUpTestSuite() {
    served_ = std::make_unique<ServedGraphFixture>(TypedGraph(kAuthors, kPapers, 7),
                                                   std::vector<std::vector<int>>{{0, 2}, {1}}, 3);
    whole_ = std::make_unique<Whole>(DistGraph(Initialize(served_->StandaloneOptions())));
  }
  static void TearDownTestSuite() {
    whole_.reset();
    served_.reset();
  }
  static DistGraph Graph() {
    if (GetParam() == kStandalone) return DistGraph(Initialize(served_->StandaloneOptions()));
    return DistGraph(Initialize(
        served_->TrainerOptions(GetParam() == kMapped ? Transport::kAuto : Transport::kTcp)));
  }
  static std::vector<int64_t> Some(int64_t below, size_t count, uint64_t seed) {
    CounterRng random(seed);
    std::vector<int64_t> ids(count);
    for (auto& id : ids) id = static_cast<int64_t>(random.Below(static_cast<uint64_t>(below)));
    return ids;
  }
  static std::vector<int64_t> Distinct(int64_t below, size_t count, uint64_t seed) {
    const auto ids = Some(below, count, seed);
    std::vector<int64_t> distinct;
    std::set<int64_t> seen;
    for (int64_t id : ids) {
      if (seen.insert(id).second) distinct.push_back(id);
    }
    return distinct;
  }
  static std::unique_ptr<ServedGraphFixture> served_;
  static std::unique_ptr<Whole> whole_;
};

std::unique_ptr<ServedGraphFixture> Queries::served_;
std::unique_ptr<Whole> Queries::whole_;

INSTANTIATE_TEST_SUITE_P(Ways, Queries, ::testing::Values(kStandalone, kMapped, kOverTcp));

std::string ErrorOf(const std::function<void()>& f) {
  try {
    f();
  } catch (const Error& error) {
    return error.what();
  }
  return "no error";
}

TEST_P(Queries, TypesAndSchemesAreThoseOfTheInput) {
  const DistGraph graph = Graph();
  EXPECT_EQ(graph.ntypes(), (std::vector<std::string>{"author", "paper"}));
  EXPECT_EQ(graph.etypes(), (std::vector<std::string>{"advises", "writes", "cites", "rev_writes"}));
  EXPECT_EQ(graph.canonical_etypes()[1].ToString(), "author:writes:paper");
  bool found = false;
  for (const FeatureScheme& scheme : graph.node_attr_schemes(1)) {
    found = found || (scheme.name == "feat" && scheme.dtype == DType::kFloat32);
  }
  EXPECT_TRUE(found);
}

TEST_P(Queries, DegreesCountEveryEdgeOnce) {
  const DistGraph graph = Graph();
  for (EdgeTypeId e = 0; e < graph.schema().num_etypes(); e++) {
    std::map<int64_t, int64_t> in, out;
    for (const auto& [u, v] : whole_->edges[static_cast<size_t>(e)]) out[u]++, in[v]++;
    const auto sources = Some(graph.num_nodes(graph.schema().src_type(e)), 200, 1);
    const auto destinations = Some(graph.num_nodes(graph.schema().dst_type(e)), 200, 2);
    const auto out_degrees = graph.OutDegrees(sources, e);
    const auto in_degrees = graph.InDegrees(destinations, e);
    for (size_t i = 0; i < 200; i++) {
      EXPECT_EQ(out_degrees[i], out[sources[i]]);
      EXPECT_EQ(in_degrees[i], in[destinations[i]]);
    }
  }
  EXPECT_TRUE(graph.InDegrees({}, 0).empty());
}

class QueriesOfDaemons : public Queries {};
INSTANTIATE_TEST_SUITE_P(Ways, QueriesOfDaemons, ::testing::Values(kMapped, kOverTcp));

TEST_P(QueriesOfDaemons, IndexesAreBuiltOnceAndShownInTheStatus) {
  auto control = ControlClient::ConnectUnix(served_->socket_path(0), std::chrono::seconds(5));
  // The second trainer uses the index that was built for the first one.
  const auto bytes_after_one = [&] {
    const DistGraph graph = Graph();
    graph.OutDegrees(std::vector<int64_t>{0}, graph.schema().EdgeTypeIdOf("cites"));
    return control->Status().partitions.at(0).index_bytes;
  };
  const uint64_t bytes = bytes_after_one();
  EXPECT_GT(bytes, 0u);
  EXPECT_EQ(bytes_after_one(), bytes);
}

TEST_P(Queries, EdgesAreFoundByIdAndByEnds) {
  const DistGraph graph = Graph();
  for (EdgeTypeId e = 0; e < graph.schema().num_etypes(); e++) {
    const auto& edges = whole_->edges[static_cast<size_t>(e)];
    if (edges.empty()) continue;
    const auto ids = Some(graph.num_edges(e), 300, 3);
    const EdgeEnds ends = graph.FindEdges(ids, e);
    for (size_t i = 0; i < ids.size(); i++) {
      const auto& [u, v] = edges[static_cast<size_t>(ids[i])];
      EXPECT_EQ(ends.src[i], u);
      EXPECT_EQ(ends.dst[i], v);
    }
    const std::set<std::pair<int64_t, int64_t>> all(edges.begin(), edges.end());
    auto src = Some(graph.num_nodes(graph.schema().src_type(e)), 2000, 4);
    auto dst = Some(graph.num_nodes(graph.schema().dst_type(e)), 2000, 5);
    src.insert(src.end(), ends.src.begin(), ends.src.end());
    dst.insert(dst.end(), ends.dst.begin(), ends.dst.end());
    const auto found = graph.HasEdges(src, dst, e);
    for (size_t i = 0; i < src.size(); i++) EXPECT_EQ(found[i], all.contains({src[i], dst[i]}));
  }
}

TEST_P(Queries, SubgraphsHaveExactlyTheEdgesOfTheirNodes) {
  const DistGraph graph = Graph();
  const std::vector<std::vector<int64_t>> nodes{Distinct(kAuthors, 120, 6),
                                                Distinct(kPapers, 150, 7)};
  const auto wanted = [&](EdgeTypeId e, bool both) {
    const auto& src = nodes[static_cast<size_t>(graph.schema().src_type(e))];
    const auto& dst = nodes[static_cast<size_t>(graph.schema().dst_type(e))];
    const std::set<int64_t> from(src.begin(), src.end()), to(dst.begin(), dst.end());
    std::vector<int64_t> ids;
    const auto& edges = whole_->edges[static_cast<size_t>(e)];
    for (size_t id = 0; id < edges.size(); id++) {
      if (!to.contains(edges[id].second)) continue;
      if (!both || from.contains(edges[id].first)) ids.push_back(static_cast<int64_t>(id));
    }
    return ids;
  };
  for (bool both : {false, true}) {
    const Subgraph subgraph = both ? NodeSubgraph(graph, nodes) : InSubgraph(graph, nodes);
    for (EdgeTypeId e = 0; e < graph.schema().num_etypes(); e++) {
      const SubgraphEdges& edges = subgraph.edges[static_cast<size_t>(e)];
      EXPECT_THAT(edges.edge_ids, UnorderedElementsAreArray(wanted(e, both)));
      const auto& sources = subgraph.nodes[static_cast<size_t>(graph.schema().src_type(e))];
      const auto& destinations = subgraph.nodes[static_cast<size_t>(graph.schema().dst_type(e))];
      for (size_t i = 0; i < edges.edge_ids.size(); i++) {
        const auto& [u, v] =
            whole_->edges[static_cast<size_t>(e)][static_cast<size_t>(edges.edge_ids[i])];
        EXPECT_EQ(sources[static_cast<size_t>(edges.src[i])], u);
        EXPECT_EQ(destinations[static_cast<size_t>(edges.dst[i])], v);
      }
    }
    for (size_t t = 0; t < nodes.size(); t++) {
      const auto& all = subgraph.nodes[t];
      ASSERT_GE(all.size(), nodes[t].size());
      EXPECT_TRUE(std::equal(nodes[t].begin(), nodes[t].end(), all.begin()));
      if (both) {
        EXPECT_EQ(all.size(), nodes[t].size());
      }
    }
  }
}

TEST_P(Queries, EdgeSubgraphsKeepTheOrderOfTheirEdges) {
  const DistGraph graph = Graph();
  std::vector<std::vector<int64_t>> eids(4);
  eids[1] = Some(graph.num_edges(1), 50, 8);
  eids[3] = Some(graph.num_edges(3), 50, 9);
  for (bool relabel : {false, true}) {
    const Subgraph subgraph = EdgeSubgraph(graph, eids, relabel);
    for (EdgeTypeId e : {1, 3}) {
      const SubgraphEdges& edges = subgraph.edges[static_cast<size_t>(e)];
      EXPECT_EQ(edges.edge_ids, eids[static_cast<size_t>(e)]);
      for (size_t i = 0; i < edges.src.size(); i++) {
        const auto& [u, v] =
            whole_->edges[static_cast<size_t>(e)][static_cast<size_t>(edges.edge_ids[i])];
        const auto id = [&](NodeTypeId t, int64_t at) {
          return relabel ? subgraph.nodes[static_cast<size_t>(t)][static_cast<size_t>(at)] : at;
        };
        EXPECT_EQ(id(graph.schema().src_type(e), edges.src[i]), u);
        EXPECT_EQ(id(graph.schema().dst_type(e), edges.dst[i]), v);
      }
    }
  }
}

TEST_P(Queries, ErrorsNameTheInvalidValue) {
  const DistGraph graph = Graph();
  const std::vector<int64_t> bad{0, kPapers}, negative{-1}, fine{0}, twice{3, 3};
  const auto cites = graph.schema().EdgeTypeIdOf("cites");
  EXPECT_THAT(ErrorOf([&] { graph.InDegrees(bad, cites); }), HasSubstr("500 at position 1"));
  EXPECT_THAT(ErrorOf([&] { graph.OutDegrees(negative, cites); }), HasSubstr("-1"));
  EXPECT_THAT(ErrorOf([&] { graph.InDegrees(fine, 9); }), HasSubstr("edge type 9"));
  EXPECT_THAT(ErrorOf([&] { graph.FindEdges(negative, cites); }), HasSubstr("edge -1"));
  EXPECT_THAT(ErrorOf([&] { graph.HasEdges(bad, fine, cites); }), HasSubstr("destinations"));
  EXPECT_THAT(ErrorOf([&] { graph.HasEdges(bad, twice, cites); }), HasSubstr("source 500"));
  EXPECT_THAT(ErrorOf([&] { NodeSubgraph(graph, {twice}); }), HasSubstr("duplicates"));
  EXPECT_THAT(ErrorOf([&] { InSubgraph(graph, {twice}); }), HasSubstr("duplicates"));
  EXPECT_THAT(ErrorOf([&] { InSubgraph(graph, {{}, {}, {}}); }), HasSubstr("3 node types"));
  EXPECT_THAT(ErrorOf([&] { EdgeSubgraph(graph, {{}, negative}); }), HasSubstr("edge -1"));
}

}  // namespace
}  // namespace graphd::testing
