// SPDX-License-Identifier: Apache-2.0
#include "format/partition/assign_nodes.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <functional>
#include <set>

#include "format/partition/balance_targets.h"
#include "tests/unit/format/raw_graph_samples.h"
#include "tests/unit/format/text_files.h"

namespace graphd {
namespace {

using ::testing::HasSubstr;
using testing::HomogeneousGraph;
using testing::RandomMultigraph;
using testing::ScratchDirectory;
using testing::TypedGraph;
using testing::WriteText;

void ExpectRefused(AssignOptions options, const std::vector<std::string>& texts) {
  try {
    CheckAssignOptions(options);
    FAIL() << texts[0] << " was accepted";
  } catch (const Error& error) {
    EXPECT_EQ(error.code(), ErrorCode::kInvalid);
    for (const std::string& text : texts) EXPECT_THAT(error.what(), HasSubstr(text));
  }
}

TEST(AssignNodes, MethodsAndObjectivesHaveNames) {
  for (const char* name : {"metis", "random", "hash", "file", "ldg", "fennel", "multilevel"}) {
    EXPECT_STREQ(PartMethodName(PartMethodFromName(name)), name);
  }
  EXPECT_THROW(PartMethodFromName("magic"), Error);
  EXPECT_EQ(ObjectiveFromName("vol"), Objective::kVolume);
  EXPECT_THROW(ObjectiveFromName("volume"), Error);
}

TEST(AssignNodes, OptionsThatContradictTheMethodAreRefused) {
  AssignOptions options;
  options.method = PartMethod::kRandom;
  EXPECT_NO_THROW(CheckAssignOptions(options));
  const auto with = [&](const std::function<void(AssignOptions&)>& change) {
    AssignOptions changed = options;
    change(changed);
    return changed;
  };
  ExpectRefused(with([](auto& o) { o.num_parts = 0; }), {"--num_parts 0", "16384"});
  ExpectRefused(with([](auto& o) { o.num_trainers_per_machine = 0; }), {"trainers_per_machine 0"});
  ExpectRefused(with([](auto& o) { o.num_parts = 1000, o.num_trainers_per_machine = 17; }),
                {"17", "1..16"});
  ExpectRefused(with([](auto& o) { o.assignment = {"x"}; }), {"--assignment", "file", "random"});
  ExpectRefused(with([](auto& o) { o.method = PartMethod::kFile; }), {"--assignment"});
  ExpectRefused(with([](auto& o) { o.balance_ntypes = {"x"}; }), {"--balance_ntypes", "ldg"});
  ExpectRefused(with([](auto& o) { o.balance_edges = true; }), {"--balance_edges", "fennel"});
  ExpectRefused(with([](auto& o) { o.edge_weights = "w"; }), {"--edge_weights", "metis"});
  ExpectRefused(with([](auto& o) { o.objective = Objective::kVolume; }), {"--objtype", "metis"});
  ExpectRefused(with([](auto& o) {
                  o.method = PartMethod::kMetis;
                  o.objective = Objective::kVolume;
                  o.edge_weights = "w";
                }),
                {"--edge_weights", "--objtype"});
}

TEST(AssignNodes, RandomIsUniformAndIndependentOfTheType) {
  const RawGraph graph = TypedGraph(60000, 60000, 1);
  constexpr PartId kParts = 7;
  const NodeOwners owners = AssignRandomly(graph, kParts, 3);
  std::vector<double> pairs(kParts * kParts, 0);  // counts of (partition of i, partition of i + 1)
  double same = 0;
  for (size_t i = 0; i < owners[0].size(); i++) {
    same += owners[0][i] == owners[1][i];
    if (i % 2) pairs[static_cast<size_t>(owners[0][i - 1] * kParts + owners[0][i])]++;
  }
  double chi_square = 0;
  const double expected = 30000.0 / (kParts * kParts);
  for (double count : pairs) chi_square += (count - expected) * (count - expected) / expected;
  EXPECT_LT(chi_square, 92);  // 48 degrees of freedom: exceeded by one seed in 10000
  EXPECT_NEAR(same, 60000.0 / kParts, 4 * std::sqrt(60000.0 / kParts));
  EXPECT_NE(owners, AssignRandomly(graph, kParts, 4));
}

TEST(AssignNodes, HashIsAnotherNameOfRandom) {
  const RawGraph graph = HomogeneousGraph(100, {});
  AssignOptions options;
  options.num_parts = 4;
  options.seed = 9;
  options.method = PartMethod::kHash;
  const NodeOwners by_hash = AssignNodes(graph, options).owners;
  options.method = PartMethod::kRandom;
  EXPECT_EQ(by_hash, AssignNodes(graph, options).owners);
}

// Properties that every method must have.
class EveryAssignment : public ::testing::TestWithParam<PartMethod> {
 protected:
  // Writes an assignment to num_parts * T trainers for the method that reads a file.
  Assignment Assign(const RawGraph& graph, AssignOptions options) {
    options.method = GetParam();
    options.seed = 5;
    options.coarsest_pairs = 100;
    if (options.method == PartMethod::kFile) {
      const PartId all = options.num_parts * options.num_trainers_per_machine;
      for (NodeTypeId t = 0; t < graph.schema.num_ntypes(); t++) {
        std::string text;
        for (int64_t i = 0; i < graph.nodes[static_cast<size_t>(t)].count; i++) {
          text += std::to_string(i * 7 % all) + "\n";
        }
        WriteText(directory_ / (graph.schema.ntype(t) + ".txt"), text);
      }
      options.assignment = {directory_.path()};
    }
    Assignment assignment = AssignNodes(graph, options);
    EXPECT_EQ(assignment.owners.size(), graph.nodes.size());
    for (size_t t = 0; t < graph.nodes.size(); t++) {
      EXPECT_EQ(assignment.owners[t].size(), static_cast<size_t>(graph.nodes[t].count));
      for (PartId owner : assignment.owners[t]) {
        EXPECT_GE(owner, 0);
        EXPECT_LT(owner, options.num_parts);
      }
    }
    EXPECT_EQ(AssignNodes(graph, options).owners, assignment.owners) << "not deterministic";
    return assignment;
  }

 private:
  ScratchDirectory directory_;
};

TEST_P(EveryAssignment, TakesIsolatedNodesSelfLoopsAndRepeatedEdges) {
  AssignOptions options;
  for (int32_t parts : {1, 2, 3, 16}) {
    options.num_parts = parts;
    Assign(HomogeneousGraph(300, RandomMultigraph(300, 2000, 1)), options);
    Assign(HomogeneousGraph(300, RandomMultigraph(300, 2000, 1), true), options);
  }
}

TEST_P(EveryAssignment, TakesMorePartitionsThanNodes) {
  AssignOptions options;
  options.num_parts = 50;
  Assign(HomogeneousGraph(0, {}), options);
  Assign(HomogeneousGraph(1, {{0, 0}}), options);
  Assign(HomogeneousGraph(7, {{0, 1}, {1, 2}, {5, 6}}), options);
}

TEST_P(EveryAssignment, TakesTypesWithoutNodesOrEdges) {
  AssignOptions options;
  options.num_parts = 3;
  Assign(TypedGraph(40, 90, 2), options);
  RawGraph graph = HomogeneousGraph(40, {});
  graph.schema = Schema({"nothing", "something"}, {{"something", "to", "something"}});
  graph.nodes.insert(graph.nodes.begin(), RawNodes{});
  Assign(graph, options);
}

TEST_P(EveryAssignment, APartitionIsTheUnionOfItsTrainers) {
  AssignOptions options;
  options.num_parts = 3;
  EXPECT_TRUE(Assign(TypedGraph(100, 200, 3), options).trainers.empty());
  options.num_trainers_per_machine = 4;
  const Assignment assignment = Assign(TypedGraph(100, 200, 3), options);
  std::set<PartId> seen;
  for (size_t t = 0; t < 2; t++) {
    for (size_t i = 0; i < assignment.owners[t].size(); i++) {
      EXPECT_EQ(assignment.owners[t][i], assignment.trainers[t][i] / 4);
      seen.insert(assignment.trainers[t][i]);
    }
  }
  EXPECT_EQ(seen.size(), 12u);
}

INSTANTIATE_TEST_SUITE_P(Methods, EveryAssignment,
                         ::testing::Values(PartMethod::kMetis, PartMethod::kRandom,
                                           PartMethod::kHash, PartMethod::kFile, PartMethod::kLdg,
                                           PartMethod::kFennel, PartMethod::kMultilevel),
                         [](const auto& test) { return PartMethodName(test.param); });

// Methods that use edges also balance.
class EveryBalance : public ::testing::TestWithParam<PartMethod> {
 protected:
  AssignOptions Options(int32_t parts) {
    AssignOptions options;
    options.method = GetParam();
    options.num_parts = parts;
    options.coarsest_pairs = 100;
    return options;
  }
  // Returns the worst imbalance of nodes and of edges over all classes.
  static std::pair<double, double> Worst(const RawGraph& graph, const AssignOptions& options) {
    double nodes = 0, edges = 0;
    for (const ClassShares& shares :
         CountClasses(graph, options, AssignNodes(graph, options).owners)) {
      nodes = std::max(nodes, Imbalance(shares.nodes));
      edges = std::max(edges, Imbalance(shares.edges));
    }
    return {nodes, edges};
  }
};

TEST_P(EveryBalance, NodeTypesAreBalancedByDefault) {
  const RawGraph graph = TypedGraph(400, 4000, 4);
  const NodeOwners owners = AssignNodes(graph, Options(4)).owners;
  for (size_t t = 0; t < 2; t++) {
    std::vector<int64_t> shares(4);
    for (PartId owner : owners[t]) shares[static_cast<size_t>(owner)]++;
    EXPECT_LE(Imbalance(shares), 1.06) << "type " << t;
  }
}

TEST_P(EveryBalance, ClassesStayBalancedAlthoughEdgesClusterThem) {
  // Edges join only nodes of the same label, so labels would stay together without balancing.
  RawGraph graph = HomogeneousGraph(2800, {});
  testing::EdgeList edges;
  for (const auto& [u, v] : RandomMultigraph(2800, 20000, 8))
    edges.emplace_back(u, v - v % 7 + u % 7);
  for (auto& edge : edges) edge.second = std::min(edge.second, 2799u);
  graph = HomogeneousGraph(2800, edges);
  AssignOptions options = Options(4);
  options.balance_ntypes = {"label"};
  EXPECT_LE(Worst(graph, options).first, 1.08);
}

TEST_P(EveryBalance, EdgesAreBalancedWhereBalancedNodesAloneDoNotSuffice) {
  // The first tenth of the nodes has nine tenths of the in-edges and is a separate cluster.
  testing::EdgeList edges;
  for (const auto& [u, v] : RandomMultigraph(400, 30000, 9)) edges.emplace_back(u, v);
  for (const auto& [u, v] : RandomMultigraph(3600, 7000, 10)) edges.emplace_back(400 + u, 400 + v);
  const RawGraph graph = HomogeneousGraph(4000, edges);
  AssignOptions options = Options(4);
  options.balance_edges = true;
  // Returns the imbalance of the partitions' in-edges.
  const auto imbalance = [&] {
    std::vector<int64_t> shares(4);
    const NodeOwners owners = AssignNodes(graph, options).owners;
    graph.edges[0].ForEach(
        [&](size_t, uint64_t, uint64_t v) { shares[static_cast<size_t>(owners[0][v])]++; });
    return Imbalance(shares);
  };
  EXPECT_LE(imbalance(), GetParam() == PartMethod::kMetis ? 1.08 : 1.35);
  options.balance_edges = false;
  EXPECT_GE(imbalance(), 1.5) << "the graph is balanced in any case";
}

INSTANTIATE_TEST_SUITE_P(Methods, EveryBalance,
                         ::testing::Values(PartMethod::kMetis, PartMethod::kLdg,
                                           PartMethod::kFennel, PartMethod::kMultilevel),
                         [](const auto& test) { return PartMethodName(test.param); });

}  // namespace
}  // namespace graphd
