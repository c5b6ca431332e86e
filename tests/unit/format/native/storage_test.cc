// SPDX-License-Identifier: Apache-2.0
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "base/file.h"
#include "format/gather_partitions.h"
#include "format/load_part_config.h"
#include "format/native/load_partition.h"
#include "format/partitioner.h"
#include "format/verify.h"
#include "tests/unit/format/raw_graph_samples.h"

// Tests how features are stored: narrow integers, floating-point numbers of fewer bytes, and edges
// without original ids.

namespace graphd {
namespace {

using ::testing::HasSubstr;
using testing::HomogeneousGraph;
using testing::RandomMultigraph;
using testing::ScratchDirectory;
using testing::TypedGraph;

PartitionOptions Options(const ScratchDirectory& directory) {
  PartitionOptions options;
  options.graph_name = "g";
  options.num_parts = 2;
  options.method = PartMethod::kRandom;
  options.output = directory / "out";
  return options;
}

std::string Refusal(const RawGraph& graph, const PartitionOptions& options, ErrorCode code) {
  try {
    PartitionGraph(graph, options);
  } catch (const Error& error) {
    EXPECT_EQ(error.code(), code) << error.what();
    return error.what();
  }
  return "";
}

TEST(Storage, IntegersTakeTheBytesThatTheirValuesNeed) {
  ScratchDirectory directory;
  const RawGraph graph = HomogeneousGraph(400, RandomMultigraph(400, 70000, 3));
  const PartConfig config = LoadPartConfig(PartitionGraph(graph, Options(directory)).part_config);
  const auto part = LoadNativePartition(config, 1);
  const FeatureTable& label = part->node_feature(0, "label");
  EXPECT_EQ(label.encoding(), (Encoding{DType::kUInt8, DType::kInt64, 1}));
  EXPECT_EQ(part->node_features(0)[1].name, "label");
  EXPECT_EQ(part->node_features(0)[1].dtype, DType::kInt64);
  EXPECT_EQ(part->node_feature(0, "orig_id").encoding().stored, DType::kUInt16);
  EXPECT_EQ(part->edge_feature(0, "orig_id").encoding().stored, DType::kUInt32);
  EXPECT_TRUE(part->node_feature(0, "feat").encoding().is_plain());
  EXPECT_TRUE(VerifyGraph(config, {}).ok());
}

TEST(Storage, APartitionWithoutEncodingsIsReadableByOlderPrograms) {
  ScratchDirectory directory;
  RawGraph graph = HomogeneousGraph(10, {{1, 2}});
  graph.nodes[0].features.clear();
  // Large ids need all bytes.
  graph.nodes[0].orig_id = Tensor::Empty(DType::kInt64, {10});
  graph.edges[0].orig_id = Tensor::Empty(DType::kInt64, {1});
  for (int64_t& id : graph.nodes[0].orig_id->as<int64_t>()) id = int64_t{1} << 40;
  graph.edges[0].orig_id->as<int64_t>()[0] = -(int64_t{1} << 40);
  PartitionOptions options = Options(directory);
  options.num_parts = 1;
  PartitionGraph(graph, options);
  EXPECT_THAT(ReadTextFile(directory / "out/part0/partition.json"), HasSubstr("\"version\": 1"));
  graph.nodes[0].orig_id.reset();
  options.force = true;
  PartitionGraph(graph, options);
  EXPECT_THAT(ReadTextFile(directory / "out/part0/partition.json"), HasSubstr("\"version\": 2"));
}

TEST(Storage, EdgesCanBeStoredWithoutOriginalIds) {
  ScratchDirectory directory;
  PartitionOptions options = Options(directory);
  options.storage.edge_orig_id = false;
  const RawGraph graph = TypedGraph(200, 300, 4);
  const PartConfig config = LoadPartConfig(PartitionGraph(graph, options).part_config);
  const auto part = LoadNativePartition(config, 0);
  for (EdgeTypeId e = 0; e < graph.schema.num_etypes(); e++) {
    for (const FeatureInfo& info : part->edge_features(e)) EXPECT_NE(info.name, "orig_id");
  }
  EXPECT_EQ(part->node_feature(0, "orig_id").num_rows(), part->num_inner_nodes(0));
  EXPECT_TRUE(VerifyGraph(config, {}).ok());
  // The partitions can be partitioned again; edges then have their ids in these partitions.
  const RawGraph gathered = GatherPartitions(config, {});
  EXPECT_TRUE(gathered.nodes[0].orig_id.has_value());
  EXPECT_FALSE(gathered.edges[0].orig_id.has_value());
}

TEST(Storage, FloatsAreStoredAsAskedAndReadAsFloat32) {
  const RawGraph graph = TypedGraph(200, 300, 4);
  for (const DType stored : {DType::kFloat16, DType::kBFloat16, DType::kInt8}) {
    ScratchDirectory directory;
    PartitionOptions options = Options(directory);
    options.storage.store_as = {std::string("author/feat=") + DTypeName(stored)};
    const PartConfig config = LoadPartConfig(PartitionGraph(graph, options).part_config);
    for (PartId p = 0; p < 2; p++) {
      const auto part = LoadNativePartition(config, p);
      const FeatureTable& feat = part->node_feature(0, "feat");
      EXPECT_EQ(feat.encoding().stored, stored);
      EXPECT_EQ(feat.dtype(), DType::kFloat32);
      EXPECT_TRUE(part->node_feature(1, "feat").encoding().is_plain());
      const Tensor read = feat.ReadAll(), ids = part->node_feature(0, "orig_id").ReadAll();
      const double step = stored == DType::kInt8 ? feat.encoding().scale : 0;
      const double relative = stored == DType::kFloat16 ? 0x1p-11 : 0x1p-8;
      for (size_t i = 0; i < static_cast<size_t>(ids.num_rows()); i++) {
        for (size_t c = 0; c < 3; c++) {
          const auto id = static_cast<uint64_t>(ids.as<int64_t>()[i]);
          const double wanted = testing::FeatValue(id, c);
          EXPECT_NEAR(read.as<float>()[3 * i + c], wanted,
                      step > 0 ? step / 2 * 1.0001 : std::abs(wanted) * relative);
        }
      }
    }
    EXPECT_TRUE(VerifyGraph(config, {}).ok());
  }
}

TEST(Storage, ArgumentsThatFitNoFeatureAreRefusedBeforeAnythingIsRemoved) {
  ScratchDirectory directory;
  const RawGraph graph = TypedGraph(20, 30, 4);
  PartitionOptions options = Options(directory);
  PartitionGraph(graph, options);
  options.force = true;
  options.storage.store_as = {"feet=float16"};
  EXPECT_THAT(Refusal(graph, options, ErrorCode::kInvalid),
              HasSubstr("--store_as feet=float16: no type has the feature 'feet'; there are: "
                        "author/feat, author/label, paper/feat"));
  options.storage.store_as = {"label=float16"};
  EXPECT_THAT(Refusal(graph, options, ErrorCode::kInvalid),
              HasSubstr("feature 'label' of 'author' is int64"));
  options.storage.store_as = {"feat=float64"};
  EXPECT_THAT(Refusal(graph, options, ErrorCode::kInvalid),
              HasSubstr("expected float16, bfloat16 or int8"));
  options.storage.store_as = {"feat=half"};
  EXPECT_THAT(Refusal(graph, options, ErrorCode::kInvalid), HasSubstr("--store_as feat=half"));
  options.storage.store_as = {"feat"};
  EXPECT_THAT(Refusal(graph, options, ErrorCode::kInvalid), HasSubstr("[TYPE/]NAME=DTYPE"));
  options.format = PartFormat::kDgl;
  EXPECT_THAT(Refusal(graph, options, ErrorCode::kInvalid), HasSubstr("--format native"));
  EXPECT_TRUE(FileExists(directory / "out/g.json"));
}

}  // namespace
}  // namespace graphd
