// SPDX-License-Identifier: Apache-2.0
// Tests SampleNeighbors and SampleEtypeNeighbors with all of their options against the whole graph.
#include <gtest/gtest.h>

#include <algorithm>
#include <set>

#include "format/partitioner.h"
#include "graphd/sampling.h"
#include "tests/unit/format/raw_graph_samples.h"
#include "tests/unit/format/scratch_directory.h"

namespace graphd::testing {
namespace {

using Ids = std::vector<int64_t>;

// A graph in three partitions; only "cites" has the mask "use", which is 1 for two of three edges.
class EtypeNeighbors : public ::testing::Test {
 protected:
  static constexpr int64_t kAuthors = 60, kPapers = 80;
  EtypeNeighbors() {
    RawGraph raw = TypedGraph(kAuthors, kPapers, 11);
    const auto cites = static_cast<size_t>(raw.schema.EdgeTypeIdOf("cites"));
    const int64_t edges = raw.edges[cites].stored();
    RawFeature use{"use", Tensor::Empty(DType::kUInt8, {edges})};
    for (size_t i = 0; i < static_cast<size_t>(edges); i++)
      use.values.as<uint8_t>()[i] = i % 3 != 0;
    raw.edges[cites].features.push_back(std::move(use));
    PartitionOptions options;
    options.graph_name = "typed";
    options.num_parts = 3;
    options.method = PartMethod::kRandom;
    options.output = scratch_ / "data";
    Options session;
    session.part_config = PartitionGraph(raw, options).part_config;
    graph_ = std::make_unique<DistGraph>(Initialize(session));
    cites_ = graph_->schema().EdgeTypeIdOf("cites");
    writes_ = graph_->schema().EdgeTypeIdOf("writes");
    for (int64_t i = 0; i < kPapers; i++) papers_.push_back(i);
  }

  // Returns the edges of a type that begin (or end) in the node and, if `used`, are set in the
  // mask.
  Ids EdgesOf(EdgeTypeId etype, Direction direction, int64_t node, bool used) const {
    Ids all(static_cast<size_t>(graph_->num_edges(etype)));
    for (size_t i = 0; i < all.size(); i++) all[i] = static_cast<int64_t>(i);
    const EdgeEnds ends = graph_->FindEdges(all, etype);
    const Tensor use = used ? graph_->edata("use", etype).Read(all) : Tensor();
    Ids found;
    for (size_t i = 0; i < all.size(); i++) {
      const int64_t end = direction == Direction::kIn ? ends.dst[i] : ends.src[i];
      if (end == node && (!used || use.as<uint8_t>()[i] != 0)) found.push_back(all[i]);
    }
    return found;
  }
  static Ids Row(const Neighbors& sample, size_t i) {
    Ids row(sample.edge_ids.begin() + sample.indptr[i],
            sample.edge_ids.begin() + sample.indptr[i + 1]);
    std::sort(row.begin(), row.end());
    return row;
  }

  ScratchDirectory scratch_;
  std::unique_ptr<DistGraph> graph_;
  EdgeTypeId cites_ = 0, writes_ = 0;
  Ids papers_;
};

TEST_F(EtypeNeighbors, EachTypeHasItsFanout) {
  std::vector<int> fanouts(static_cast<size_t>(graph_->schema().num_etypes()), 0);
  fanouts[static_cast<size_t>(cites_)] = 2;
  fanouts[static_cast<size_t>(writes_)] = kAllNeighbors;
  const auto samples = SampleEtypeNeighbors(*graph_, {{}, papers_}, fanouts, {.edge_ids = true});
  ASSERT_EQ(samples.size(), fanouts.size());
  for (const Neighbors& sample : samples) {
    if (sample.etype != cites_ && sample.etype != writes_) {
      EXPECT_TRUE(sample.neighbors.empty());
      continue;
    }
    for (size_t i = 0; i < papers_.size(); i++) {
      const Ids all = EdgesOf(sample.etype, Direction::kIn, papers_[i], false);
      const Ids row = Row(sample, i);
      EXPECT_TRUE(std::includes(all.begin(), all.end(), row.begin(), row.end()));
      EXPECT_EQ(std::set(row.begin(), row.end()).size(), row.size());
      EXPECT_EQ(row.size(), sample.etype == writes_ ? all.size() : std::min<size_t>(2, all.size()));
    }
  }
}

TEST_F(EtypeNeighbors, TypesWithoutTheProbabilityAreUniform) {
  const std::vector<int> fanouts(static_cast<size_t>(graph_->schema().num_etypes()), kAllNeighbors);
  const auto samples =
      SampleEtypeNeighbors(*graph_, {{}, papers_}, fanouts, {.edge_ids = true, .prob = "use"});
  for (size_t i = 0; i < papers_.size(); i++) {
    for (EdgeTypeId e : {cites_, writes_}) {
      EXPECT_EQ(Row(samples[static_cast<size_t>(e)], i),
                EdgesOf(e, Direction::kIn, papers_[i], e == cites_));
    }
  }
}

TEST_F(EtypeNeighbors, ProbabilityDirectionAndExclusionCombine) {
  const Ids excluded{0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11};
  for (Direction direction : {Direction::kIn, Direction::kOut}) {
    const Neighbors sample = SampleNeighbors(
        *graph_, papers_,
        {.edge_ids = true, .direction = direction, .prob = "use", .exclude = excluded}, cites_);
    for (size_t i = 0; i < papers_.size(); i++) {
      Ids wanted = EdgesOf(cites_, direction, papers_[i], true);
      std::erase_if(wanted, [](int64_t id) { return id < 12; });
      EXPECT_EQ(Row(sample, i), wanted);
    }
  }
}

TEST_F(EtypeNeighbors, WithReplacementRowsAreFullAndOmitEdgesOfWeightZero) {
  const Neighbors sample = SampleNeighbors(
      *graph_, papers_, {.fanout = 20, .replace = true, .edge_ids = true, .prob = "use"}, cites_);
  for (size_t i = 0; i < papers_.size(); i++) {
    const Ids all = EdgesOf(cites_, Direction::kIn, papers_[i], true);
    const Ids row = Row(sample, i);
    EXPECT_EQ(row.size(), all.empty() ? 0u : 20u);
    for (int64_t id : row) EXPECT_TRUE(std::binary_search(all.begin(), all.end(), id));
  }
}

TEST_F(EtypeNeighbors, InvalidArgumentsAreRejected) {
  const auto code = [&](const std::vector<int>& fanouts, const std::string& prob) {
    try {
      SampleEtypeNeighbors(*graph_, {{}, papers_}, fanouts, {.prob = prob});
    } catch (const Error& error) {
      return error.code();
    }
    return ErrorCode::kInternal;
  };
  EXPECT_EQ(code({1, 1}, ""), ErrorCode::kInvalid);
  EXPECT_EQ(code({1, 1, 1, -2}, ""), ErrorCode::kInvalid);
  EXPECT_EQ(code({1, 1, 1, 1}, "nothing"), ErrorCode::kNotFound);
  EXPECT_THROW(SampleNeighbors(*graph_, papers_, {.prob = "use"}, writes_), Error);
}

}  // namespace
}  // namespace graphd::testing
