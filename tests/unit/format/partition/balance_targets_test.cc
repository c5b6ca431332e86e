// SPDX-License-Identifier: Apache-2.0
#include "format/partition/balance_targets.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/unit/format/raw_graph_samples.h"
#include "tests/unit/format/text_files.h"

namespace graphd {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using testing::HomogeneousGraph;
using ::testing::IsEmpty;
using testing::ScratchDirectory;
using testing::TypedGraph;
using testing::WriteText;

BalanceTargets Targets(const RawGraph& graph, std::vector<std::string> by) {
  AssignOptions options;
  options.balance_ntypes = std::move(by);
  return FindBalanceTargets(graph, options);
}

TEST(BalanceTargets, NodeTypesAreClassesIfThereAreSeveral) {
  EXPECT_THAT(Targets(HomogeneousGraph(3, {}), {}).class_of, IsEmpty());
  const BalanceTargets typed = Targets(TypedGraph(2, 3, 1), {});
  EXPECT_THAT(typed.classes, ElementsAre("author", "paper"));
  EXPECT_THAT(typed.class_of, ElementsAre(0u, 0u, 1u, 1u, 1u));
}

TEST(BalanceTargets, AFeatureOrAFileSplitsATypeIntoClasses) {
  const BalanceTargets labels = Targets(HomogeneousGraph(9, {}), {"label"});  // i % 7
  EXPECT_EQ(labels.classes.size(), 7u);
  EXPECT_EQ(labels.classes[3], "_N/label=3");
  EXPECT_THAT(labels.class_of, ElementsAre(0u, 1u, 2u, 3u, 4u, 5u, 6u, 0u, 1u));
  EXPECT_EQ(Targets(HomogeneousGraph(9, {}), {"_N/label"}).classes, labels.classes);

  ScratchDirectory directory;
  const std::string path = directory / "classes.txt";
  WriteText(path, "5\n-1\n5\n");
  const BalanceTargets typed = Targets(TypedGraph(2, 3, 1), {"paper=" + path});
  EXPECT_THAT(typed.class_of, ElementsAre(0u, 0u, 2u, 1u, 2u));
  EXPECT_THAT(typed.classes,
              ElementsAre("author", "paper/" + path + "=-1", "paper/" + path + "=5"));
  EXPECT_THAT(Targets(TypedGraph(2, 3, 1), {"paper/label"}).class_of,
              ElementsAre(0u, 0u, 1u, 2u, 3u));
}

TEST(BalanceTargets, InvalidClassesAreRefused) {
  const auto refused = [](const RawGraph& graph, std::vector<std::string> by,
                          const std::string& text) {
    try {
      Targets(graph, std::move(by));
      ADD_FAILURE() << text << " was accepted";
    } catch (const Error& error) {
      EXPECT_THAT(error.what(), HasSubstr(text));
    }
  };
  ScratchDirectory directory;
  WriteText(directory / "two.txt", "0\n1\n");
  refused(HomogeneousGraph(3, {}), {"colour"}, "_N/label");
  refused(HomogeneousGraph(3, {}), {"feat"}, "float32");
  refused(HomogeneousGraph(3, {}), {directory / "two.txt"}, "3 nodes");
  refused(HomogeneousGraph(3, {}), {"label", "label"}, "twice");
  refused(TypedGraph(2, 3, 1), {directory / "two.txt"}, "TYPE=");
  RawGraph many = HomogeneousGraph(2000, {});
  const auto labels = many.nodes[0].features[1].values.as<int64_t>();
  for (size_t i = 0; i < labels.size(); i++) labels[i] = static_cast<int64_t>(i);
  refused(many, {"label"}, "2000 values");
}

TEST(BalanceTargets, SharesAreCountedByClassAndPartition) {
  const RawGraph graph = HomogeneousGraph(4, {{0, 1}, {2, 1}, {1, 0}, {1, 3}, {3, 3}});
  RawGraph split = graph;
  const auto labels = split.nodes[0].features[1].values.as<int64_t>();
  for (size_t i = 0; i < 4; i++) labels[i] = i == 1;
  AssignOptions options;
  options.num_parts = 2;
  options.balance_ntypes = {"label"};
  options.balance_edges = true;
  const auto shares = CountClasses(split, options, {{0, 1, 0, 1}});
  ASSERT_EQ(shares.size(), 2u);
  EXPECT_EQ(shares[1].name, "_N/label=1");
  EXPECT_THAT(shares[0].nodes, ElementsAre(2, 1));
  EXPECT_THAT(shares[0].edges, ElementsAre(1, 2));
  EXPECT_THAT(shares[1].nodes, ElementsAre(0, 1));
  EXPECT_THAT(shares[1].edges, ElementsAre(0, 2));
  EXPECT_DOUBLE_EQ(Imbalance(shares[0].nodes), 2 * 2 / 3.0);
  EXPECT_DOUBLE_EQ(Imbalance({0, 0}), 1);
}

}  // namespace
}  // namespace graphd
