// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include <numeric>

#include "graphd/samplers.h"
#include "sampling/relabel.h"

namespace graphd {
namespace {

using Ids = std::vector<int64_t>;

TEST(ToBlock, SourcesBeginWithTheDestinations) {
  Neighbors sample{0, {0, 2, 3, 3}, {7, 5, 9}, {}};
  const Block block = ToBlock(Schema::Homogeneous(), {{5, 9, 11}}, {sample});
  EXPECT_EQ(block.src_nodes[0], (Ids{5, 9, 11, 7}));
  EXPECT_EQ(block.num_dst[0], 3);
  EXPECT_EQ(block.edges[0].indices, (std::vector<int32_t>{3, 0, 1}));
  EXPECT_EQ(block.edges[0].indptr, (Ids{0, 2, 3, 3}));
  EXPECT_EQ(block.num_edges(), 3);
}

TEST(ToBlock, KeepsNodeTypesApart) {
  const Schema schema({"paper", "author"},
                      {{"author", "writes", "paper"}, {"paper", "cites", "paper"}});
  const Block block =
      ToBlock(schema, {{4, 2}, {}},
              {Neighbors{0, {0, 1, 2}, {4, 4}, {}}, Neighbors{1, {0, 1, 1}, {2}, {}}});
  EXPECT_EQ(block.src_nodes[0], (Ids{4, 2}));
  EXPECT_EQ(block.src_nodes[1], (Ids{4}));
  EXPECT_EQ(block.num_dst, (Ids{2, 0}));
  EXPECT_EQ(block.edges[0].indices, (std::vector<int32_t>{0, 0}));
  EXPECT_EQ(block.edges[1].indices, (std::vector<int32_t>{1}));
}

TEST(ToBlock, RejectsDuplicatesAndSamplesThatDoNotFit) {
  const Neighbors sample{0, {0, 0, 0}, {}, {}};
  EXPECT_THROW(ToBlock(Schema::Homogeneous(), {{5, 5}}, {sample}), Error);
  EXPECT_THROW(ToBlock(Schema::Homogeneous(), {{5}}, {sample}), Error);
  EXPECT_THROW(ToBlock(Schema::Homogeneous(), {}, {sample}), Error);
  const auto refused = [](Neighbors wrong) {
    EXPECT_THROW(ToBlock(Schema::Homogeneous(), {{5, 9}}, {std::move(wrong)}), Error);
  };
  refused({1, {0, 0, 0}, {}, {}});
  refused({-1, {0, 0, 0}, {}, {}});
  refused({0, {}, {}, {}});
  refused({0, {0, 1, 2}, {7}, {}});
  refused({0, {0, 1, 1}, {7}, {}, Direction::kOut});
}

TEST(RelabelTable, AllKindsAgreeOverManyEpochs) {
  // Cells of 4 bytes, whose epochs begin again after 255; of 8 bytes; and a hash table.
  RelabelTable small(1000), large(20'000'000), hashed(1000, 0);
  uint64_t state = 1;
  for (int epoch = 0; epoch < 600; epoch++) {
    Ids ids(static_cast<size_t>(epoch % 200) * 7);
    for (auto& id : ids)
      id = static_cast<int64_t>((state = state * 6364136223846793005ULL + 1) >> 33) % 1000;
    const size_t half = ids.size() / 2;
    const auto add = [&](RelabelTable& table, size_t expected) {
      Ids nodes{-1, -2, -3};  // other entries
      std::vector<int32_t> local(ids.size());
      table.Start(expected);
      size_t added = table.Add(std::span(ids).first(half), nodes, local.data());
      added += table.Add(std::span(ids).subspan(half), nodes, local.data() + half);
      EXPECT_EQ(added, nodes.size() - 3);
      for (size_t i = 0; i < ids.size(); i++) {
        EXPECT_EQ(nodes[static_cast<size_t>(local[i])], ids[i]);
      }
      return std::pair(nodes, local);
    };
    const auto expected = add(hashed, 4);  // a bad estimate must only cost time
    ASSERT_EQ(add(small, ids.size()), expected);
    ASSERT_EQ(add(large, ids.size()), expected);
  }
}

TEST(RelabelTable, NumbersAllIdsOfTheLargestTableWithSmallCells) {
  constexpr int64_t kIds = (int64_t{1} << 24) - 1;
  RelabelTable table(kIds);
  Ids ids(static_cast<size_t>(kIds)), nodes;
  std::iota(ids.rbegin(), ids.rend(), 0);
  std::vector<int32_t> local(ids.size());
  table.Start(0);
  ASSERT_EQ(table.Add(ids, nodes, nullptr), ids.size());
  ASSERT_EQ(table.Add(ids, nodes, local.data()), 0U);
  ASSERT_EQ(nodes, ids);
  EXPECT_EQ(local.back(), kIds - 1);
}

TEST(RelabelTable, IdsOfMoreThan32BitsAreToldApart) {
  RelabelTable table(INT64_MAX, 0);
  for (int epoch = 0; epoch < 3; epoch++) {
    Ids ids, nodes;
    for (int64_t low = 0; low < 3000; low++) {
      for (int64_t high : {0, 1, 7, 1}) ids.push_back(high << 32 | low);
    }
    std::vector<int32_t> local(ids.size());
    table.Start(1);
    const size_t half = ids.size() / 2;
    size_t added = table.Add(std::span(ids).first(half), nodes, local.data());
    added += table.Add(std::span(ids).subspan(half), nodes, local.data() + half);
    EXPECT_EQ(added, 9000u);
    ASSERT_EQ(nodes.size(), 9000u);
    for (size_t i = 0; i < ids.size(); i++) {
      ASSERT_EQ(nodes[static_cast<size_t>(local[i])], ids[i]);
    }
  }
}

}  // namespace
}  // namespace graphd
