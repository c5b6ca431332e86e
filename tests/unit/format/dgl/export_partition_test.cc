// SPDX-License-Identifier: Apache-2.0
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <tuple>

#include "base/file.h"
#include "format/dgl/magic.h"
#include "format/partitioner.h"
#include "tests/unit/format/raw_graph_samples.h"
#include "tests/unit/format/whole_graph.h"

// Tests PartitionGraph with DGL's format. writer_test.py checks every byte of its files.

namespace graphd {
namespace {

using ::testing::Combine;
using testing::ExpectWholeGraph;
using ::testing::HasSubstr;
using testing::HomogeneousGraph;
using testing::RandomMultigraph;
using testing::ScratchDirectory;
using testing::TypedGraph;
using ::testing::Values;

PartitionOptions Options(const ScratchDirectory& directory, int32_t parts) {
  PartitionOptions options;
  options.graph_name = "g";
  options.num_parts = parts;
  options.method = PartMethod::kRandom;
  options.output = directory / "out";
  options.format = PartFormat::kDgl;
  return options;
}

void ExpectError(const RawGraph& graph, const PartitionOptions& options, const char* text) {
  try {
    PartitionGraph(graph, options);
    FAIL() << "expected an error with: " << text;
  } catch (const Error& error) {
    EXPECT_EQ(error.code(), ErrorCode::kInvalid);
    EXPECT_THAT(error.what(), HasSubstr(text));
  }
}

// Parameters: partitions, hops, stored matrices.
class DglFormat : public ::testing::TestWithParam<std::tuple<PartId, int, int64_t>> {
 protected:
  PartitionOptions OptionsFor(const ScratchDirectory& directory) {
    PartitionOptions options = Options(directory, std::get<0>(GetParam()));
    options.dgl = {std::get<1>(GetParam()), std::get<2>(GetParam())};
    return options;
  }
};

TEST_P(DglFormat, KeepsEveryEdgeOfAMultigraphWithItsFeatures) {
  ScratchDirectory directory;
  const RawGraph graph = HomogeneousGraph(200, RandomMultigraph(200, 1500, 5));
  ExpectWholeGraph(graph, PartitionGraph(graph, OptionsFor(directory)), PartFormat::kDgl);
}

TEST_P(DglFormat, KeepsTypedGraphsWithReversesAndATypeThatHasNoEdges) {
  ScratchDirectory directory;
  const RawGraph graph = TypedGraph(70, 110, 7);
  ExpectWholeGraph(graph, PartitionGraph(graph, OptionsFor(directory)), PartFormat::kDgl);
}

TEST_P(DglFormat, TakesGraphsWithoutEdgesAndOfOneNode) {
  ScratchDirectory first, second;
  const RawGraph without_edges = HomogeneousGraph(10, {});
  ExpectWholeGraph(without_edges, PartitionGraph(without_edges, OptionsFor(first)),
                   PartFormat::kDgl);
  const RawGraph one_node = HomogeneousGraph(1, {{0, 0}, {0, 0}});
  ExpectWholeGraph(one_node, PartitionGraph(one_node, OptionsFor(second)), PartFormat::kDgl);
}

INSTANTIATE_TEST_SUITE_P(Parts, DglFormat,
                         Combine(Values(1, 2, 4), Values(1, 3),
                                 Values(0, dgl::kCsc, dgl::kCsr | dgl::kCoo)));

TEST(DglOutputFormat, ReplacesANativeGraphAndViceVersa) {
  ScratchDirectory directory;
  const RawGraph graph = HomogeneousGraph(40, RandomMultigraph(40, 300, 9));
  PartitionOptions options = Options(directory, 2);
  for (PartFormat format : {PartFormat::kNative, PartFormat::kDgl, PartFormat::kNative}) {
    options.format = format;
    options.force = true;
    ExpectWholeGraph(graph, PartitionGraph(graph, options), format);
    const bool native = format == PartFormat::kNative;
    EXPECT_EQ(FileExists(directory / "out/part0/graph.seg"), native);
    EXPECT_EQ(FileExists(directory / "out/part1/partition.json"), native);
    EXPECT_EQ(FileExists(directory / "out/part0/graph.dgl"), !native);
    EXPECT_EQ(FileExists(directory / "out/part1/node_feat.dgl"), !native);
  }
}

TEST(DglOutputFormat, RefusesGraphsThatDglCannotLoadAndKeepsExistingFiles) {
  ScratchDirectory directory;
  const RawGraph graph = HomogeneousGraph(40, RandomMultigraph(40, 300, 9));
  PartitionOptions options = Options(directory, 2);
  const PartitionSummary before = PartitionGraph(graph, options);
  options.force = true;
  options.dgl.num_hops = 0;
  ExpectError(graph, options, "with 0 hops");
  options.dgl.num_hops = 101;
  ExpectError(graph, options, "number of hops 101 is outside 0..100");
  options.dgl.num_hops = 1;
  RawGraph odd = graph;
  odd.nodes[0].features[0].name = "a/b";
  ExpectError(odd, options, "feature of node type '_N': 'a/b' has a '/'");
  odd = graph;
  odd.edges[0].features[0].values = Tensor::Empty(DType::kUInt32, {graph.edges[0].stored()});
  ExpectError(odd, options, "'weight' of edge type '_N:_E:_N' is uint32");
  odd = graph;
  odd.schema = Schema({"a:b"}, {{"a:b", "to", "a:b"}});
  ExpectError(odd, options, "node type 'a:b' has a ':'");
  ExpectWholeGraph(graph, before, PartFormat::kDgl);
}

TEST(DglOutputFormat, NeedsNoHaloWhereNoEdgeIsCut) {
  ScratchDirectory directory;
  const RawGraph graph = HomogeneousGraph(40, RandomMultigraph(40, 300, 9));
  PartitionOptions options = Options(directory, 1);
  options.dgl.num_hops = 0;
  ExpectWholeGraph(graph, PartitionGraph(graph, options), PartFormat::kDgl);
}

TEST(DglOutputFormat, KnowsTheNamesOfTheMatrices) {
  EXPECT_EQ(DglFormatsFromNames(""), 0);
  EXPECT_EQ(DglFormatsFromNames("coo,csc,csr"), dgl::kCoo | dgl::kCsc | dgl::kCsr);
  EXPECT_EQ(DglFormatsFromNames("csc"), dgl::kCsc);
  for (const char* names : {"csd", "coo,", ",", "coo csc"}) {
    EXPECT_THROW(DglFormatsFromNames(names), Error) << names;
  }
}

}  // namespace
}  // namespace graphd
