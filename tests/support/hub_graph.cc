// SPDX-License-Identifier: Apache-2.0
#include "tests/support/hub_graph.h"

#include <utility>

#include "base/rng.h"
#include "format/partitioner.h"
#include "tests/unit/format/raw_graph_samples.h"

namespace graphd::testing {
namespace {

RawGraph HubGraph() {
  EdgeList edges;
  // Each hub has every source once, so that tests can check its samples for repetition.
  for (uint32_t hub = 0; hub < kHubs; hub++) {
    for (uint32_t i = 0; i < kHubDegree; i++) edges.push_back({i + 10, hub});
  }
  CounterRng random(1);
  for (uint32_t v = kHubs; v < kHubGraphNodes; v++) {
    const uint64_t degree = random.Below(30);
    for (uint64_t k = 0; k < degree; k++) {
      const double skew = static_cast<double>(random.Below(1 << 20)) / (1 << 20);
      edges.push_back({static_cast<uint32_t>(skew * skew * kHubGraphNodes), v});
    }
  }
  RawGraph graph = HomogeneousGraph(kHubGraphNodes, edges);
  RawFeature feat{"wide", Tensor::Empty(DType::kFloat32, {kHubGraphNodes, 128})};
  auto values = feat.values.as<float>();
  for (size_t i = 0; i < values.size(); i++) {
    values[i] = static_cast<float>(i / 128) + static_cast<float>(i % 128) / 128.0f;
  }
  RawFeature mask{"train_mask", Tensor::Empty(DType::kUInt8, {kHubGraphNodes})};
  for (int64_t i = 0; i < kHubGraphNodes; i++) {
    mask.values.as<uint8_t>()[static_cast<size_t>(i)] = i % 3 == 0;
  }
  graph.nodes[0].features.push_back(std::move(feat));
  graph.nodes[0].features.push_back(std::move(mask));
  return graph;
}

}  // namespace

std::string WriteHubGraph(const std::string& output, int num_parts) {
  PartitionOptions options;
  options.graph_name = "hubs";
  options.num_parts = num_parts;
  options.method = PartMethod::kRandom;
  options.output = output;
  options.force = true;
  return PartitionGraph(HubGraph(), options).part_config;
}

}  // namespace graphd::testing
