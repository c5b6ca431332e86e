// SPDX-License-Identifier: Apache-2.0
// Tests that indexes agree with a search through all edges, and that invalid specs and segments are
// refused.
#include "sampling/index/edge_index.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <limits>
#include <map>

#include "base/rng.h"
#include "sampling/index/alias_index.h"
#include "sampling/index/order_index.h"
#include "sampling/index/out_index.h"
#include "sampling/index/slot_index.h"
#include "tests/unit/sampling/tiny_partition.h"

namespace graphd::testing {
namespace {

using ::testing::HasSubstr;
using ::testing::ThrowsMessage;

// Returns a graph with unsorted rows of random length and parallel edges. `shuffled`: edge rows are
// in random order.
TinyGraph Random(int64_t sources, size_t rows, uint64_t seed, bool shuffled) {
  TinyGraph graph;
  graph.num_sources = sources;
  CounterRng random(seed);
  uint64_t edges = 0;
  for (size_t row = 0; row < rows; row++) {
    auto& list = graph.rows.emplace_back();
    for (uint64_t i = random.Below(8); i > 0; i--) {
      list.push_back(random.Below(static_cast<uint64_t>(sources)));
    }
    edges += list.size();
  }
  if (shuffled) {
    for (uint64_t i = 0; i < edges; i++) {
      graph.edge_rows.push_back(i);
      std::swap(graph.edge_rows[i], graph.edge_rows[random.Below(i + 1)]);
    }
  }
  std::vector<double> weights;
  for (uint64_t i = 0; i < edges; i++) weights.push_back(static_cast<double>(random.Below(4)));
  graph.features.emplace_back("weight", Column(weights));
  return graph;
}

uint64_t EdgeRow(const Csc& csc, uint64_t slot) {
  return csc.edge_rows ? (*csc.edge_rows)[slot] : slot;
}

EdgeIndexSpec Spec(EdgeIndexKind kind, std::string column = "", bool out = false) {
  return {kind, out, 0, std::move(column)};
}

std::shared_ptr<const Segment> Build(const Partition& partition, const EdgeIndexSpec& spec,
                                     std::shared_ptr<const Segment> out = nullptr) {
  const uint64_t bound = EstimateEdgeIndexBytes(partition, spec);
  auto segment = BuildEdgeIndex(partition, spec, out);
  EXPECT_LE(segment->size(), bound) << spec.ToString();
  return segment;
}

void ExpectOutIndexMatches(const TinyGraph& graph) {
  const auto partition = graph.Build();
  const Csc& in = partition->csc(0);
  const OutIndex out(Build(*partition, Spec(EdgeIndexKind::kOut)));
  // Maps each source to the (destination, edge row) of its edges.
  std::map<uint64_t, std::vector<std::pair<uint64_t, uint64_t>>> expected;
  for (size_t row = 0; row + 1 < in.indptr.size(); row++) {
    for (uint64_t slot = in.indptr[row]; slot < in.indptr[row + 1]; slot++) {
      expected[in.indices[slot]].emplace_back(row + TinyGraph::kFirstNode, EdgeRow(in, slot));
    }
  }
  ASSERT_EQ(out.num_rows(), expected.size());
  EXPECT_TRUE(RowsAreSorted(out.csc()));
  std::vector<int64_t> sources, rows;
  for (int64_t source = -1; source <= graph.num_sources + 1; source++) sources.push_back(source);
  sources.push_back(INT64_MAX);
  rows.resize(sources.size());
  out.RowsOf(sources, rows);
  for (size_t i = 0; i < sources.size(); i++) {
    const int64_t row = rows[i];
    EXPECT_EQ(row, out.RowOf(static_cast<uint64_t>(sources[i])));
    const auto found = expected.find(static_cast<uint64_t>(sources[i]));
    ASSERT_EQ(row >= 0, found != expected.end()) << sources[i];
    if (row < 0) continue;
    EXPECT_EQ(out.sources()[static_cast<size_t>(row)], found->first);
    std::vector<std::pair<uint64_t, uint64_t>> edges;
    for (uint64_t slot = out.csc().indptr[static_cast<size_t>(row)];
         slot < out.csc().indptr[static_cast<size_t>(row) + 1]; slot++) {
      edges.emplace_back(out.csc().indices[slot], EdgeRow(out.csc(), slot));
    }
    EXPECT_EQ(edges, found->second);
  }
}

TEST(OutIndex, HasEveryEdgeBySource) {
  for (int64_t sources : {1, 40, 64, 500, 100000}) {
    for (bool shuffled : {false, true}) {
      TinyGraph graph = Random(sources, 60, static_cast<uint64_t>(sources), shuffled);
      graph.wide = shuffled;
      ExpectOutIndexMatches(graph);
    }
  }
}

TEST(OutIndex, SourcesThatShareADirectoryEntryAreFound) {
  TinyGraph graph;
  graph.num_sources = 1 << 20;
  graph.rows.resize(1);
  for (uint64_t i = 0; i < 300; i++) graph.rows[0].push_back((1 << 19) + i);
  ExpectOutIndexMatches(graph);
}

TEST(OutIndex, APartitionWithoutEdgesHasNoRows) {
  TinyGraph graph;
  graph.num_sources = 5;
  graph.rows.resize(3);
  ExpectOutIndexMatches(graph);
  graph.rows.clear();
  graph.num_sources = 0;
  ExpectOutIndexMatches(graph);
}

// Compares the table of every row with the weights: adds up the shares that its cells give to each
// edge.
void ExpectTablesMatch(const Csc& csc, const Segment& segment, const Tensor& column) {
  const AliasIndex alias(segment.shared_from_this(), csc, column);
  const Tensor array = segment.array("cells");
  const auto cells = array.as<uint32_t>();
  for (size_t row = 0; row + 1 < csc.indptr.size(); row++) {
    const uint64_t begin = csc.indptr[row], degree = csc.indptr[row + 1] - begin;
    double total = 0;
    uint32_t positive = 0;
    std::vector<double> chance(degree);
    for (uint64_t i = 0; i < degree; i++) {
      const double weight = column.as<double>()[EdgeRow(csc, begin + i)];
      EXPECT_EQ(alias.weight(begin + i), weight);
      total += weight;
      positive += weight > 0;
      const double kept = cells[2 * (begin + i)] / 4294967296.0;
      ASSERT_LT(cells[2 * (begin + i) + 1], degree);
      chance[i] += kept;
      chance[cells[2 * (begin + i) + 1]] += 1 - kept;
    }
    EXPECT_DOUBLE_EQ(alias.total(row), total);
    EXPECT_EQ(alias.positive(row), positive);
    for (uint64_t i = 0; i < degree && total > 0; i++) {
      const double weight = alias.weight(begin + i);
      const double expected = weight / total * static_cast<double>(degree);
      EXPECT_NEAR(chance[i], expected, 1e-9 * static_cast<double>(degree));
      if (weight == 0) {
        EXPECT_EQ(chance[i], 0);
      }
    }
  }
}

TEST(AliasIndex, GivesEachEdgeItsShare) {
  for (bool shuffled : {false, true}) {
    const auto partition = Random(50, 300, 3, shuffled).Build();
    const Tensor column = partition->edge_feature(0, "weight").ReadAll();
    ExpectTablesMatch(partition->csc(0), *Build(*partition, Spec(EdgeIndexKind::kAlias, "weight")),
                      column);
    const auto out = Build(*partition, Spec(EdgeIndexKind::kOut));
    ExpectTablesMatch(OutIndex(out).csc(),
                      *Build(*partition, Spec(EdgeIndexKind::kAlias, "weight", true), out), column);
  }
}

TEST(AliasIndex, WeightsOfAnySizeWork) {
  const double tiny = std::numeric_limits<double>::denorm_min();
  for (const std::vector<double>& weights : std::vector<std::vector<double>>{
           {tiny, 0, tiny, tiny}, {1e307, 1e307, 3e307, 0}, {1e300, 1e-300, 0}, {5}, {0}, {0, 7}}) {
    TinyGraph graph = Star(weights.size());
    graph.features.emplace_back("weight", Column(weights));
    const auto partition = graph.Build();
    ExpectTablesMatch(partition->csc(0), *Build(*partition, Spec(EdgeIndexKind::kAlias, "weight")),
                      partition->edge_feature(0, "weight").ReadAll());
  }
}

TEST(AliasIndex, ErrorsNameInvalidWeights) {
  const auto refusal = [](const std::vector<double>& weights) {
    TinyGraph graph = Star(weights.size());
    graph.features.emplace_back("cost", Column(weights));
    const auto partition = graph.Build();
    try {
      BuildEdgeIndex(*partition, Spec(EdgeIndexKind::kAlias, "cost"));
    } catch (const Error& error) {
      EXPECT_EQ(error.code(), ErrorCode::kInvalid);
      return std::string(error.what());
    }
    return std::string();
  };
  const double infinity = std::numeric_limits<double>::infinity();
  EXPECT_THAT(refusal({1, -2.5}), HasSubstr("'cost' of edge type from:edge:to: edge 101 has "
                                            "weight -2.5"));
  EXPECT_THAT(refusal({std::nan(""), 1}), HasSubstr("edge 100 has weight nan"));
  EXPECT_THAT(refusal({1, infinity}), HasSubstr("edge 101 has weight inf"));
  EXPECT_THAT(refusal({1e308, 1e308}), HasSubstr("add up to inf"));
}

TEST(OrderIndex, ListsEachRowByValueAndEdgeRow) {
  for (bool shuffled : {false, true}) {
    const auto partition = Random(50, 300, 4, shuffled).Build();
    const auto out_segment = Build(*partition, Spec(EdgeIndexKind::kOut));
    const OutIndex out(out_segment);
    for (bool over_out : {false, true}) {
      const Csc& csc = over_out ? out.csc() : partition->csc(0);
      const OrderIndex order(
          Build(*partition, Spec(EdgeIndexKind::kOrder, "weight", over_out), out_segment), csc);
      const Tensor column = partition->edge_feature(0, "weight").ReadAll();
      const auto values = column.as<double>();
      for (size_t row = 0; row + 1 < csc.indptr.size(); row++) {
        std::vector<std::pair<double, uint64_t>> expected, listed;
        for (uint64_t slot = csc.indptr[row]; slot < csc.indptr[row + 1]; slot++) {
          const uint64_t in_order = csc.indptr[row] + order.relative(slot);
          expected.emplace_back(values[EdgeRow(csc, slot)], EdgeRow(csc, slot));
          listed.emplace_back(values[EdgeRow(csc, in_order)], EdgeRow(csc, in_order));
        }
        std::sort(expected.begin(), expected.end());
        EXPECT_EQ(listed, expected);
      }
    }
  }
}

TEST(OrderIndex, SixteenBitFloatsAreOrderedByValue) {
  // 1.0, -2.0, 0.5, 65504 and the smallest number above 0.
  const std::vector<uint16_t> half{0x3c00, 0xc000, 0x3800, 0x7bff, 0x0001};
  const std::vector<uint16_t> brain{0x3f80, 0xc000, 0x3f00, 0x7f00, 0x0001};
  for (DType dtype : {DType::kFloat16, DType::kBFloat16}) {
    TinyGraph graph = Star(5);
    Tensor column = Column(dtype == DType::kFloat16 ? half : brain);
    graph.features.emplace_back("time", Tensor(dtype, {5}, column.data(), column.owner()));
    const auto partition = graph.Build();
    const auto segment = Build(*partition, Spec(EdgeIndexKind::kOrder, "time"));
    const OrderIndex order(segment, partition->csc(0));
    std::vector<uint32_t> listed;
    for (uint64_t at = 0; at < 5; at++) listed.push_back(order.relative(at));
    EXPECT_EQ(listed, (std::vector<uint32_t>{1, 4, 2, 0, 3}));
    const Tensor values = segment->array("values");
    EXPECT_EQ(values.as<float>()[0], -2);
    EXPECT_EQ(values.as<float>()[2], 0.5f);
    EXPECT_EQ(values.as<float>()[4], dtype == DType::kFloat16 ? 65504.0f : 0x1p127f);
    EXPECT_EQ(values.as<float>()[1], dtype == DType::kFloat16 ? 0x1p-24f : 0x1p-133f);
  }
}

TEST(OrderIndex, AnErrorNamesAValueThatIsNotANumber) {
  TinyGraph graph = Star(3);
  graph.features.emplace_back("time", Column(std::vector<float>{1, 2, std::nanf("")}));
  const auto partition = graph.Build();
  EXPECT_THAT([&] { BuildEdgeIndex(*partition, Spec(EdgeIndexKind::kOrder, "time")); },
              ThrowsMessage<Error>(HasSubstr("'time' of edge type from:edge:to: edge 102 has")));
}

TEST(InverseIndex, ConvertsEdgeRowsToPositionsInTheCsc) {
  for (bool wide : {false, true}) {
    TinyGraph graph = Random(50, 300, 5, true);
    graph.wide = wide;
    const auto partition = graph.Build();
    const Csc& csc = partition->csc(0);
    const InverseIndex inverse(Build(*partition, Spec(EdgeIndexKind::kInverse)), csc);
    for (uint64_t slot = 0; slot < csc.indices.size(); slot++) {
      EXPECT_EQ(inverse.slot(EdgeRow(csc, slot)), slot);
    }
  }
}

TEST(SortedIndex, ListsEachRowByNeighbor) {
  const auto partition = Random(20, 300, 6, true).Build();
  const Csc& csc = partition->csc(0);
  EXPECT_FALSE(RowsAreSorted(csc));
  const SortedIndex sorted(Build(*partition, Spec(EdgeIndexKind::kSorted)), csc);
  for (size_t row = 0; row + 1 < csc.indptr.size(); row++) {
    std::vector<std::pair<uint64_t, uint64_t>> expected, listed;
    for (uint64_t slot = csc.indptr[row]; slot < csc.indptr[row + 1]; slot++) {
      const uint64_t in_order = csc.indptr[row] + sorted.relative(slot);
      expected.emplace_back(csc.indices[slot], slot);
      listed.emplace_back(csc.indices[in_order], in_order);
    }
    std::sort(expected.begin(), expected.end());
    EXPECT_EQ(listed, expected);
  }
  EXPECT_TRUE(RowsAreSorted(Star(9).Build()->csc(0)));
}

TEST(EdgeIndexSpec, InvalidSpecsAreRefused) {
  TinyGraph graph = Random(20, 30, 7, false);
  const auto edges = static_cast<int64_t>(graph.features[0].second.num_elements());
  graph.features.emplace_back("matrix", Tensor::Empty(DType::kFloat32, {edges, 2}));
  graph.features.emplace_back("count", Tensor::Empty(DType::kInt32, {edges}));
  const auto partition = graph.Build();
  const auto code = [&](EdgeIndexSpec spec, std::shared_ptr<const Segment> out = nullptr) {
    try {
      BuildEdgeIndex(*partition, spec, out);
    } catch (const Error& error) {
      return error.code();
    }
    return ErrorCode::kInternal;
  };
  EXPECT_EQ(code({EdgeIndexKind::kSorted, false, 1, ""}), ErrorCode::kNotFound);
  EXPECT_EQ(code({EdgeIndexKind::kSorted, false, -1, ""}), ErrorCode::kNotFound);
  EXPECT_EQ(code({static_cast<EdgeIndexKind>(5), false, 0, ""}), ErrorCode::kInvalid);
  EXPECT_EQ(code(Spec(EdgeIndexKind::kAlias, "nothing")), ErrorCode::kNotFound);
  EXPECT_EQ(code(Spec(EdgeIndexKind::kAlias, "")), ErrorCode::kNotFound);
  EXPECT_EQ(code(Spec(EdgeIndexKind::kAlias, "matrix")), ErrorCode::kInvalid);
  EXPECT_EQ(code(Spec(EdgeIndexKind::kAlias, "count")), ErrorCode::kInvalid);
  EXPECT_EQ(code(Spec(EdgeIndexKind::kOrder, "matrix")), ErrorCode::kInvalid);
  EXPECT_EQ(code(Spec(EdgeIndexKind::kOut, "weight")), ErrorCode::kInvalid);
  EXPECT_EQ(code(Spec(EdgeIndexKind::kOut, "", true)), ErrorCode::kInvalid);
  EXPECT_EQ(code(Spec(EdgeIndexKind::kInverse)), ErrorCode::kInvalid);
  EXPECT_EQ(code(Spec(EdgeIndexKind::kOrder, "weight", true)), ErrorCode::kInvalid);
  const auto other = BuildEdgeIndex(*Star(3).Build(), Spec(EdgeIndexKind::kOut));
  EXPECT_EQ(code(Spec(EdgeIndexKind::kOrder, "weight", true), other), ErrorCode::kInvalid);
  EXPECT_THROW(EstimateEdgeIndexBytes(*partition, Spec(EdgeIndexKind::kAlias, "count")), Error);
  EXPECT_EQ(Spec(EdgeIndexKind::kAlias, "w", true).ToString(),
            "alias index of edge type 0 by 'w', out-edges");
  EXPECT_NE(Spec(EdgeIndexKind::kAlias, "w"), Spec(EdgeIndexKind::kAlias, "w", true));
}

// Returns a copy of a segment in which the array `victim` is missing (`how` is 0), longer (1), of
// another dtype (2) or without dimensions (3).
std::shared_ptr<const Segment> Damage(const Segment& segment, const std::string& victim, int how) {
  SegmentLayout layout;
  for (const ArraySpec& array : segment.layout().arrays()) {
    auto shape = array.shape;
    if (array.name != victim) {
      layout.Add(array.name, array.dtype(), shape);
    } else if (how == 1) {
      shape[0]++;
      layout.Add(array.name, array.dtype(), shape);
    } else if (how == 2) {
      layout.Add(array.name, DType::kInt8, shape);
    } else if (how == 3) {
      layout.Add(array.name, array.dtype(), {});
    }
  }
  SegmentWriter writer("damaged", std::move(layout));
  for (const ArraySpec& array : segment.layout().arrays()) {
    if (array.name == victim) continue;
    const auto to = writer.array_bytes(array.name);
    const Tensor from = segment.array(array.name);
    std::copy(from.data(), from.data() + to.size(), to.begin());
  }
  return std::move(writer).Seal();
}

TEST(EdgeIndex, DamagedSegmentsAreRefused) {
  const auto partition = Random(50, 40, 8, true).Build();
  const Csc& csc = partition->csc(0);
  const auto open = [&](EdgeIndexKind kind, std::shared_ptr<const Segment> segment) {
    switch (kind) {
      case EdgeIndexKind::kOut:
        OutIndex(std::move(segment));
        return;
      case EdgeIndexKind::kAlias:
        AliasIndex(std::move(segment), csc, partition->edge_feature(0, "weight").ReadAll());
        return;
      case EdgeIndexKind::kOrder:
        OrderIndex(std::move(segment), csc);
        return;
      case EdgeIndexKind::kInverse:
        InverseIndex(std::move(segment), csc);
        return;
      case EdgeIndexKind::kSorted:
        SortedIndex(std::move(segment), csc);
        return;
    }
  };
  for (EdgeIndexKind kind : {EdgeIndexKind::kOut, EdgeIndexKind::kAlias, EdgeIndexKind::kOrder,
                             EdgeIndexKind::kInverse, EdgeIndexKind::kSorted}) {
    const bool column = kind == EdgeIndexKind::kAlias || kind == EdgeIndexKind::kOrder;
    const auto segment = Build(*partition, Spec(kind, column ? "weight" : ""));
    EXPECT_NO_THROW(open(kind, segment));
    for (const ArraySpec& array : segment->layout().arrays()) {
      for (int how = 0; how < 4; how++) {
        // The values of an order index may have any numeric dtype.
        if (array.name == "values" && how == 2) continue;
        try {
          open(kind, Damage(*segment, array.name, how));
          ADD_FAILURE() << EdgeIndexKindName(kind) << " " << array.name << " " << how;
        } catch (const Error& error) {
          EXPECT_EQ(error.code(), ErrorCode::kCorrupt) << error.what();
        }
      }
    }
  }
}

}  // namespace
}  // namespace graphd::testing
