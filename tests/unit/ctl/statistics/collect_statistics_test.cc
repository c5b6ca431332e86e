// SPDX-License-Identifier: Apache-2.0
#include "ctl/statistics/collect_statistics.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sched.h>

#include <algorithm>
#include <cmath>
#include <nlohmann/json.hpp>
#include <numeric>
#include <vector>

#include "base/file.h"
#include "base/index.h"
#include "base/strings.h"
#include "ctl/statistics/piece_scan.h"
#include "format/load_part_config.h"
#include "format/partitioner.h"
#include "tests/unit/format/raw_graph_samples.h"

namespace graphd::ctl {
namespace {

using ::testing::HasSubstr;

constexpr int64_t kNodes = 70000, kEdges = 200000;  // several pieces each

class CollectStatisticsTest : public ::testing::Test {
 protected:
  CollectStatisticsTest()
      : edges_(testing::RandomMultigraph(kNodes, kEdges, 5)),
        graph_(testing::HomogeneousGraph(kNodes, edges_)) {
    // Several pieces in each partition, and a sum that depends on their order.
    graph_.nodes[0].features[0].values = Tensor::Empty(DType::kFloat32, {kNodes, 24});
    auto values = graph_.nodes[0].features[0].values.as<float>();
    for (size_t i = 0; i < values.size(); i++) {
      values[i] = static_cast<float>(std::exp(10 * std::sin(static_cast<double>(i))));
    }
    PartitionOptions options;
    options.graph_name = "g";
    options.num_parts = 3;
    options.method = PartMethod::kRandom;
    options.output = directory_ / "out";
    summary_ = PartitionGraph(graph_, options);
  }
  GraphStatistics Collect(std::optional<PartId> part = std::nullopt) const {
    return CollectStatistics(LoadPartConfig(summary_.part_config), part, {});
  }

  // Collects with one thread, while others have as many as there are cores.
  GraphStatistics CollectOnOneCore() const {
    cpu_set_t all, one;
    EXPECT_EQ(::sched_getaffinity(0, sizeof all, &all), 0);
    CPU_ZERO(&one);
    for (int core = 0; core < CPU_SETSIZE && CPU_COUNT(&one) == 0; core++) {
      if (CPU_ISSET(core, &all)) CPU_SET(core, &one);
    }
    EXPECT_EQ(::sched_setaffinity(0, sizeof one, &one), 0);
    EXPECT_EQ(PieceScan({}, 1).threads(), 1u);
    GraphStatistics statistics = Collect();
    EXPECT_EQ(::sched_setaffinity(0, sizeof all, &all), 0);
    return statistics;
  }

  testing::ScratchDirectory directory_;
  testing::EdgeList edges_;
  RawGraph graph_;
  PartitionSummary summary_;
};

TEST_F(CollectStatisticsTest, EdgesOfSeveralPiecesAreCountedOnce) {
  const GraphStatistics found = Collect();
  EXPECT_EQ(found.cut(), summary_.edge_cut);
  int64_t in_matrix = 0;
  for (const auto& row : found.edges_from) {
    in_matrix += std::accumulate(row.begin(), row.end(), int64_t{0});
  }
  EXPECT_EQ(in_matrix, kEdges);
  std::vector<uint64_t> in(kNodes), out(kNodes);
  for (const auto& [src, dst] : edges_) {
    out[src]++;
    in[dst]++;
  }
  DegreeCounts in_degrees, out_degrees;
  int64_t isolated = 0;
  for (size_t node = 0; node < Index(kNodes); node++) {
    in_degrees.Add(in[node]);
    out_degrees.Add(out[node]);
    isolated += in[node] + out[node] == 0;
  }
  EXPECT_GT(isolated, 0);
  EXPECT_EQ(found.ntypes[0].isolated, isolated);
  const EdgeTypeStatistics& type = found.etypes[0];
  EXPECT_EQ(type.in_degrees.log2_histogram, in_degrees.Summary().log2_histogram);
  ASSERT_TRUE(type.out_degrees);
  EXPECT_EQ(type.out_degrees->log2_histogram, out_degrees.Summary().log2_histogram);
  EXPECT_EQ(type.out_degrees->max, out_degrees.Summary().max);
}

TEST_F(CollectStatisticsTest, FeaturesAreTheSameOnAnyNumberOfThreads) {
  const GraphStatistics found = Collect(), again = CollectOnOneCore();
  const RawFeature& raw = graph_.nodes[0].features[0];
  ASSERT_EQ(raw.name, "feat");
  const FeatureStatistics& feat = found.ntypes[0].features[0];
  EXPECT_EQ(feat.name, "feat");
  const auto values = raw.values.as<float>();
  EXPECT_EQ(feat.values.count, values.size());
  EXPECT_NEAR(
      feat.values.mean,
      std::accumulate(values.begin(), values.end(), 0.0) / static_cast<double>(values.size()),
      1e-6 * std::abs(feat.values.mean));
  EXPECT_EQ(feat.values.mean, again.ntypes[0].features[0].values.mean);
  EXPECT_EQ(feat.values.squares, again.ntypes[0].features[0].values.squares);
  EXPECT_TRUE(feat.histogram.sampled);
  EXPECT_EQ(feat.histogram.counts, again.ntypes[0].features[0].histogram.counts);
  const uint64_t sampled =
      std::accumulate(feat.histogram.counts.begin(), feat.histogram.counts.end(), uint64_t{0});
  EXPECT_GT(sampled, 16384u * 9 / 10);
  EXPECT_LE(sampled, 16384u);
}

TEST_F(CollectStatisticsTest, OnePartitionIsThatOfTheWhole) {
  const GraphStatistics whole = Collect(), one = Collect(PartId(1));
  EXPECT_EQ(one.parts, std::vector<PartId>{PartId(1)});
  EXPECT_EQ(one.cut(), whole.cut_in(1));
  EXPECT_EQ(one.halo_in(0), whole.halo_in(1));
  EXPECT_EQ(one.ntypes[0].features[0].values.mean, whole.ntypes[0].features[0].by_part[1].mean);
  EXPECT_FALSE(one.etypes[0].out_degrees || one.ntypes[0].isolated);
}

TEST_F(CollectStatisticsTest, DamagedSourcesAreNamed) {
  const std::string path = directory_ / "out/part1/graph.seg";
  std::string bytes = ReadTextFile(path);
  // The last array has the sources, and zeros may follow it.
  const size_t last = bytes.find_last_not_of('\0');
  std::fill(bytes.begin() + static_cast<std::ptrdiff_t>(last) - 400,
            bytes.begin() + static_cast<std::ptrdiff_t>(last), '\xff');
  WriteFileAtomically(path, bytes);
  try {
    Collect();
    FAIL() << "damage was not noticed";
  } catch (const Error& error) {
    EXPECT_EQ(error.code(), ErrorCode::kCorrupt);
    EXPECT_THAT(error.what(), HasSubstr("graph.seg: array 'csc/0/indices', element "));
  }
}

// More numbers than rows would be counted for nodes that do not exist.
TEST_F(CollectStatisticsTest, OffsetsAndSourcesAreListsOfPlainNumbers) {
  const std::string path = directory_ / "out/part1/partition.json";
  const std::string text = ReadTextFile(path);
  const auto complaint = [&](const char* array, const auto& change) -> std::string {
    auto header = nlohmann::json::parse(text);
    for (auto& segment : header["segments"]) {
      for (auto& spec : segment["arrays"]) {
        if (spec["name"] == array) change(spec);
      }
    }
    WriteFileAtomically(path, header.dump());
    try {
      Collect();
      return "";
    } catch (const Error& error) {
      EXPECT_EQ(error.code(), ErrorCode::kCorrupt);
      return error.what();
    }
  };
  for (const char* array : {"csc/0/indptr", "csc/0/indices"}) {
    EXPECT_THAT(complaint(array, [](auto& spec) { spec["shape"].push_back(1); }),
                HasSubstr(StrCat("array '", array, "' has 2 dimensions, expected a plain list")));
  }
  EXPECT_THAT(complaint("csc/0/indices", [](auto& spec) { spec["read_as"] = "int64"; }),
              HasSubstr("and is encoded"));
}

}  // namespace
}  // namespace graphd::ctl
