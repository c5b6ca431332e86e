// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <gtest/gtest.h>

#include <cstdint>
#include <memory>
#include <vector>

#include "graphd/dist_graph.h"
#include "graphd/sampling.h"
#include "tests/support/served_graph_fixture.h"
#include "tests/unit/format/raw_graph_samples.h"

// A typed graph whose edges have weights, masks and times, and its edges in new ids, determined
// without sampling.

namespace graphd::testing {

// Adds columns to every edge type that has edges: "w" float32, some 0; "mask" uint8; "time" int64
// in -5..34; "when" float64 in 0..9.75. All have many ties and depend only on the stored edge.
void AddSamplingColumns(RawGraph& graph);
// Returns a TypedGraph with those columns. It has about 8 edges per paper, and none of type 0
// (author:advises:author).
RawGraph SamplingGraph();
inline constexpr int64_t kSamplingAuthors = 40, kSamplingPapers = 50;

struct KnownEdge {
  int64_t id, src, dst;  // type-wise
  double w = 0;
  bool mask = false;
  int64_t time = 0;
  double when = 0;
};

// Returns edges by [etype][edge id], from the original graph and the orig_id features.
std::vector<std::vector<KnownEdge>> KnownEdges(const RawGraph& raw, const DistGraph& graph);

// The base of test suites that use SamplingGraph in three partitions, in standalone mode and served
// by two daemons.
class ServedSamplingGraph : public ::testing::Test {
 protected:
  static void SetUpTestSuite();
  static void TearDownTestSuite();
  static std::unique_ptr<ServedGraphFixture> served_;
  static std::unique_ptr<DistGraph> alone_;
  static std::vector<std::vector<KnownEdge>> known_;
};

// Returns the edges that a rule may sample for a seed, in the order of their ids.
std::vector<KnownEdge> Eligible(const std::vector<KnownEdge>& edges, const SamplingRule& rule,
                                int64_t seed, int64_t time, double when,
                                const std::vector<int64_t>& exclude);

}  // namespace graphd::testing
