// SPDX-License-Identifier: Apache-2.0
#include "daemon/graph/served_graph.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>

#include "tests/unit/sampling/tiny_partition.h"

namespace graphd {
namespace {

using ::testing::HasSubstr;

std::string ErrorOf(const std::string& text) {
  const Schema schema({"user", "item"}, {{"user", "rates", "item"}, {"item", "rates", "user"}});
  try {
    ParseIndex(schema, text);
  } catch (const Error& error) {
    return error.what();
  }
  return "no error";
}

TEST(ParseIndex, ReadsEveryKind) {
  const Schema schema({"user", "item"}, {{"user", "rates", "item"}, {"user", "knows", "user"}});
  const EdgeIndexSpec out{EdgeIndexKind::kOut, false, 1, ""};
  const EdgeIndexSpec alias{EdgeIndexKind::kAlias, false, 0, "weight"};
  const EdgeIndexSpec order{EdgeIndexKind::kOrder, false, 0, "time"};
  EXPECT_EQ(ParseIndex(schema, "out:knows"), out);
  EXPECT_EQ(ParseIndex(schema, "alias:user:rates:item/weight"), alias);
  EXPECT_EQ(ParseIndex(schema, "order:rates/time"), order);
}

TEST(ParseIndex, ReportsTheExpectedForm) {
  for (const char* text : {"", "out", "tree:rates", "alias:user:rates:item", "order:rates/",
                           "out:user:rates:item/x"}) {
    EXPECT_THAT(ErrorOf(text), HasSubstr("expected out:EDGE_TYPE")) << text;
  }
  EXPECT_THAT(ErrorOf("out:rates"), HasSubstr("rates"));  // two types have that relation
  EXPECT_THAT(ErrorOf("out:nothing"), HasSubstr("nothing"));
}

// A graph with three edge features, and as much memory as a test says.
class IndexMemory : public ::testing::Test {
 protected:
  ServedGraph Serve(Clock::duration idle) {
    testing::TinyGraph graph = testing::Star(1000);
    for (const char* name : {"a", "b", "c"}) {
      graph.features.emplace_back(name, testing::Column(std::vector<double>(1000, 1.0)));
    }
    partition_ = graph.Build();
    return ServedGraph({partition_}, {}, 0, {},
                       {[this] {
                          return MemoryLimit{available_(), "this test"};
                        },
                        idle});
  }
  EdgeIndexSpec Alias(const char* column) const {
    return {EdgeIndexKind::kAlias, false, 0, column};
  }

  std::shared_ptr<const Partition> partition_;
  std::function<uint64_t()> available_ = [] { return UINT64_MAX; };
};

TEST_F(IndexMemory, AnIdleIndexMakesRoomForAnother) {
  const ServedGraph graph = Serve(Clock::duration::zero());
  const auto indexes = graph.indexes(partition_->id());
  indexes->Get(Alias("a"));
  indexes->Get(Alias("b"));
  // Beside these two, one byte is missing for a third.
  const uint64_t all = indexes->bytes() + EstimateEdgeIndexBytes(*partition_, Alias("c")) - 1;
  available_ = [&] { return all - indexes->bytes(); };
  indexes->Get(Alias("c"));
  EXPECT_FALSE(indexes->Has(Alias("a"))) << "it was not used for the longest time";
  EXPECT_TRUE(indexes->Has(Alias("b")) && indexes->Has(Alias("c")));
}

TEST_F(IndexMemory, AnIndexThatWasUsedLatelyStays) {
  const ServedGraph graph = Serve(std::chrono::hours(1));
  const auto indexes = graph.indexes(partition_->id());
  indexes->Get(Alias("a"));
  available_ = [] { return 1; };
  EXPECT_THROW(indexes->Get(Alias("c")), Error);
  EXPECT_TRUE(indexes->Has(Alias("a")));
}

}  // namespace
}  // namespace graphd
