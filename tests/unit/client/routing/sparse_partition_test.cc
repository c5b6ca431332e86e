// SPDX-License-Identifier: Apache-2.0
// Tests partitions that own nodes but no edges of a type, and therefore lack the type's features.
#include <gtest/gtest.h>

#include "client/routing/graph_access.h"
#include "format/load.h"
#include "format/load_part_config.h"
#include "format/partitioner.h"
#include "tests/unit/format/raw_graph_samples.h"
#include "tests/unit/format/scratch_directory.h"

namespace graphd::testing {
namespace {

class SparsePartition : public ::testing::Test {
 protected:
  static constexpr int64_t kNodes = 20;

  // All edges end in original node 0, so that only one of the two partitions has edges.
  SparsePartition() {
    EdgeList edges;
    for (uint32_t source = 1; source < kNodes; source++) edges.emplace_back(source, 0);
    PartitionOptions options;
    options.graph_name = "sparse";
    options.num_parts = 2;
    options.method = PartMethod::kRandom;
    options.output = scratch_ / "data";
    const PartConfig config =
        LoadPartConfig(PartitionGraph(HomogeneousGraph(kNodes, edges), options).part_config);
    std::vector<std::vector<FeatureInfo>> edge_features;
    std::vector<std::shared_ptr<const Partition>> partitions;
    for (PartId p = 0; p < 2; p++) {
      auto loaded = LoadPartition(config, p);
      if (loaded->num_inner_edges(0) > 0) {
        edge_features = {loaded->edge_features(0)};
        partitions.push_back(std::move(loaded));
        continue;
      }
      empty_ = p;
      std::vector<std::shared_ptr<const Segment>> without;
      for (const auto& segment : loaded->segments()) {
        const auto& arrays = segment->layout().arrays();
        const bool of_edges = std::any_of(arrays.begin(), arrays.end(), [](const ArraySpec& array) {
          return array.name.starts_with("edge");
        });
        if (!of_edges) without.push_back(segment);
      }
      partitions.push_back(std::make_shared<const Partition>(config.meta, p, std::move(without)));
    }
    access_ = std::make_unique<GraphAccess>(config.meta, std::vector<std::vector<FeatureInfo>>(1),
                                            std::move(edge_features), std::move(partitions),
                                            std::vector<std::shared_ptr<DaemonLink>>(2),
                                            std::vector<std::shared_ptr<TensorPort>>(2),
                                            std::make_shared<Traffic>(), std::chrono::seconds(1));
  }

  ScratchDirectory scratch_;
  PartId empty_ = -1;
  std::unique_ptr<GraphAccess> access_;
};

TEST_F(SparsePartition, CanBeSampledByColumnsThatItLacks) {
  ASSERT_GE(empty_, 0);
  std::vector<int64_t> ids(kNodes), times(kNodes);
  std::vector<double> whens(kNodes, 1e9);
  for (size_t i = 0; i < ids.size(); i++) ids[i] = static_cast<int64_t>(i);
  const HopSeeds seeds{ids, {}, times, whens};
  for (SamplingMethod method :
       {SamplingMethod::kWeighted, SamplingMethod::kTopK, SamplingMethod::kLabor,
        SamplingMethod::kTemporalUniform, SamplingMethod::kTemporalRecent}) {
    for (Direction direction : {Direction::kIn, Direction::kOut}) {
      const SamplingRule rule{0, direction, method, kAllNeighbors, false, "weight"};
      const auto found = access_->Hop(std::span(&seeds, 1), std::span(&rule, 1), {});
      EXPECT_EQ(found[0].indptr.size(), ids.size() + 1);
      EXPECT_EQ(found[0].neighbors.size(), static_cast<size_t>(kNodes - 1));
    }
  }
}

}  // namespace
}  // namespace graphd::testing
