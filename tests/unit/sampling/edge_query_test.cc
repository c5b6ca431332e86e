// SPDX-License-Identifier: Apache-2.0
// Tests that answers agree with a search through all edges.
#include "sampling/edge_query.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <optional>
#include <set>

#include "base/rng.h"
#include "sampling/edge_set.h"
#include "sampling/index/edge_index.h"
#include "sampling/slots.h"
#include "tests/unit/sampling/tiny_partition.h"

namespace graphd::testing {
namespace {

// A partition with empty rows, short rows and a hub, which have parallel edges. Rows are sorted, or
// they are not and edge rows are shuffled, too.
class Queries : public ::testing::TestWithParam<std::tuple<bool, bool>> {
 protected:
  void SetUp() override {
    const auto [is_sorted, wide] = GetParam();
    TinyGraph graph;
    graph.num_sources = kSources;
    graph.wide = wide;
    CounterRng random(1);
    uint64_t edges = 0;
    for (uint64_t degree : {0, 3, 0, 0, 12, 1, 700, 40, 0}) {
      auto& row = graph.rows.emplace_back();
      for (uint64_t i = 0; i < degree; i++) row.push_back(random.Below(kSources));
      if (is_sorted) std::ranges::sort(row);
      edges += degree;
    }
    for (uint64_t i = 0; i < edges && !is_sorted; i++) {
      graph.edge_rows.push_back(i);
      std::swap(graph.edge_rows[i], graph.edge_rows[random.Below(i + 1)]);
    }
    partition_ = graph.Build();
    ASSERT_EQ(RowsAreSorted(csc()), is_sorted);
    if (is_sorted) return;
    sorted_.emplace(BuildEdgeIndex(*partition_, {EdgeIndexKind::kSorted, false, 0, ""}), csc());
    inverse_.emplace(BuildEdgeIndex(*partition_, {EdgeIndexKind::kInverse, false, 0, ""}), csc());
  }
  static constexpr int64_t kSources = 400;
  const Csc& csc() const { return partition_->csc(0); }
  const SortedIndex* sorted() const { return sorted_ ? &*sorted_ : nullptr; }
  const InverseIndex* inverse() const { return inverse_ ? &*inverse_ : nullptr; }
  int64_t num_rows() const { return static_cast<int64_t>(csc().indptr.size()) - 1; }
  std::span<const uint64_t> SlotsOf(int64_t row) const {
    all_.clear();
    if (row >= 0) {
      for (uint64_t s = csc().indptr[static_cast<size_t>(row)];
           s < csc().indptr[static_cast<size_t>(row) + 1]; s++) {
        all_.push_back(s);
      }
    }
    return all_;
  }

  std::shared_ptr<const Partition> partition_;
  std::optional<SortedIndex> sorted_;
  std::optional<InverseIndex> inverse_;
  mutable std::vector<uint64_t> all_;
};

TEST_P(Queries, DegreesAreRowLengths) {
  const std::vector<int64_t> rows{8, 6, -1, 1, 0, 4, 6};
  std::vector<int64_t> degrees(rows.size());
  Degrees(csc(), rows, degrees);
  EXPECT_EQ(degrees, (std::vector<int64_t>{0, 700, 0, 3, 0, 12, 700}));
}

TEST_P(Queries, EdgesAreFoundByTheirRows) {
  std::vector<int64_t> edges, expected_rows, expected_neighbors;
  for (int64_t row = 0; row < num_rows(); row++) {
    for (uint64_t slot : SlotsOf(row)) {
      edges.push_back(static_cast<int64_t>(csc().edge_rows ? (*csc().edge_rows)[slot] : slot));
      expected_rows.push_back(row);
      expected_neighbors.push_back(static_cast<int64_t>(csc().indices[slot]));
    }
  }
  std::vector<int64_t> neighbors(edges.size()), rows(edges.size());
  FindEdges(csc(), inverse(), edges, neighbors, rows);
  EXPECT_EQ(rows, expected_rows);
  EXPECT_EQ(neighbors, expected_neighbors);
}

TEST_P(Queries, ExistingAndMissingEdgesAreDistinguished) {
  std::vector<int64_t> rows, neighbors;
  std::vector<uint8_t> expected;
  for (int64_t row = -1; row < num_rows(); row++) {
    std::set<uint64_t> mine;
    for (uint64_t slot : SlotsOf(row)) mine.insert(csc().indices[slot]);
    for (int64_t source = 0; source < kSources; source++) {
      rows.push_back(row);
      neighbors.push_back(source);
      expected.push_back(mine.contains(static_cast<uint64_t>(source)));
    }
  }
  std::vector<uint8_t> found(rows.size());
  HasEdges(csc(), sorted(), rows, neighbors, found);
  EXPECT_EQ(found, expected);
}

TEST_P(Queries, InducedEdgesAreThoseAmongTheMembers) {
  CounterRng random(4);
  const std::vector<int64_t> rows{6, -1, 1, 4, 0, 7, 6};
  InducedEdges edges;
  for (size_t size : {0, 1, 5, 60, 400}) {
    std::set<int64_t> chosen;
    while (chosen.size() < size) chosen.insert(static_cast<int64_t>(random.Below(kSources)));
    const std::vector<int64_t> members(chosen.begin(), chosen.end());
    FindInducedEdges(csc(), sorted(), rows, members, edges);
    size_t at = 0;
    ASSERT_EQ(edges.counts.size(), rows.size());
    for (size_t i = 0; i < rows.size(); i++) {
      std::vector<std::pair<uint32_t, uint64_t>> expected, found;
      for (uint64_t slot : SlotsOf(rows[i])) {
        const auto member = std::ranges::find(members, static_cast<int64_t>(csc().indices[slot]));
        if (member == members.end()) continue;
        expected.emplace_back(member - members.begin(), slot);
      }
      std::ranges::sort(expected);
      for (uint32_t k = 0; k < edges.counts[i]; k++, at++) {
        found.emplace_back(edges.positions[at], edges.slots[at]);
      }
      EXPECT_EQ(found, expected) << "row " << rows[i] << ", " << size << " members";
    }
    EXPECT_EQ(at, edges.slots.size());
  }
}

TEST_P(Queries, SlotsAreConvertedToNeighborsAndEdgeIds) {
  std::vector<uint64_t> slots;
  for (uint64_t slot = csc().indices.size(); slot-- > 0;) slots.push_back(slot);
  std::vector<int64_t> signed_out(slots.size()), ids(slots.size());
  std::vector<uint64_t> unsigned_out(slots.size()), rows(slots.size());
  std::vector<uint32_t> narrow_out(slots.size());
  WriteNeighbors(csc(), slots, signed_out.data());
  WriteNeighbors(csc(), slots, unsigned_out.data());
  WriteNeighbors(csc(), slots, narrow_out.data());
  WriteEdgeRows(csc(), slots, rows.data());
  WriteEdgeIds(*partition_, 0, csc(), slots, ids.data());
  for (size_t i = 0; i < slots.size(); i++) {
    const uint64_t neighbor = csc().indices[slots[i]];
    EXPECT_EQ(static_cast<uint64_t>(signed_out[i]), neighbor);
    EXPECT_EQ(unsigned_out[i], neighbor);
    EXPECT_EQ(narrow_out[i], neighbor);
    EXPECT_EQ(rows[i], csc().edge_rows ? (*csc().edge_rows)[slots[i]] : slots[i]);
    EXPECT_EQ(ids[i], static_cast<int64_t>(rows[i]) + TinyGraph::kFirstEdge);
  }
  std::vector<uint64_t> in_place = slots;
  WriteEdgeRows(csc(), in_place, in_place.data());
  EXPECT_EQ(in_place, rows);
}

INSTANTIATE_TEST_SUITE_P(All, Queries, ::testing::Combine(::testing::Bool(), ::testing::Bool()),
                         [](const auto& of) {
                           return std::string(std::get<0>(of.param) ? "Sorted" : "Unsorted") +
                                  (std::get<1>(of.param) ? "Wide" : "Narrow");
                         });

TEST(EdgeSet, ContainsWhatWasAssigned) {
  EdgeSet set;
  EXPECT_TRUE(set.empty());
  EXPECT_FALSE(set.Contains(0));
  std::vector<int64_t> rows;
  for (int64_t i = 0; i < 10000; i++) rows.push_back(i / 2 * 3);
  set.Assign(rows);
  EXPECT_EQ(set.size(), 5000u);
  for (uint64_t row = 0; row < 15000; row++) EXPECT_EQ(set.Contains(row), row % 3 == 0);
  set.Assign({});
  EXPECT_TRUE(set.empty());
  EXPECT_FALSE(set.Contains(3));
}

}  // namespace
}  // namespace graphd::testing
