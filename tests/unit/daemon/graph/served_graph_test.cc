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
    return ServedGraph({partition_}, {}, 0, {}, {budget_, idle});
  }
  EdgeIndexSpec Alias(const char* column) const {
    return {EdgeIndexKind::kAlias, false, 0, column};
  }

  std::shared_ptr<const Partition> partition_;
  std::function<uint64_t()> available_ = [] { return UINT64_MAX; };
  const std::shared_ptr<IndexBudget> budget_ = std::make_shared<IndexBudget>(0, [this] {
    return MemoryLimit{available_(), "this test"};
  });
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

TEST_F(IndexMemory, AnIndexBeyondTheLimitIsRefusedAndTheErrorNamesTheOption) {
  const ServedGraph graph = Serve(std::chrono::hours(1));
  const auto indexes = graph.indexes(partition_->id());
  const uint64_t bytes = indexes->Get(Alias("a"))->size();
  budget_->SetLimit(bytes + EstimateEdgeIndexBytes(*partition_, Alias("b")) - 1);
  try {
    indexes->Get(Alias("b"));
    FAIL();
  } catch (const Error& error) {
    EXPECT_EQ(error.code(), ErrorCode::kOverloaded);
    EXPECT_THAT(error.what(), HasSubstr("(--index_memory); give graphd a larger --index_memory"));
  }
  budget_->SetLimit(bytes + EstimateEdgeIndexBytes(*partition_, Alias("b")));
  indexes->Get(Alias("b"));
  EXPECT_EQ(budget_->used(), indexes->bytes());
}

TEST_F(IndexMemory, AnIdleIndexOfAnotherVersionMakesRoom) {
  const ServedGraph old = Serve(Clock::duration::zero()), next = Serve(Clock::duration::zero());
  const auto of_old = old.indexes(partition_->id());
  budget_->SetLimit(EstimateEdgeIndexBytes(*partition_, Alias("a")));
  of_old->Get(Alias("a"));
  next.indexes(partition_->id())->Get(Alias("a"));
  EXPECT_FALSE(of_old->Has(Alias("a")));
}

TEST_F(IndexMemory, AnIndexThatCanNeverFitDropsNoOther) {
  const ServedGraph graph = Serve(Clock::duration::zero());
  const auto indexes = graph.indexes(partition_->id());
  const uint64_t bytes = indexes->Get(Alias("a"))->size();
  budget_->SetLimit(std::min(bytes, EstimateEdgeIndexBytes(*partition_, Alias("b"))) - 1);
  EXPECT_THROW(indexes->Get(Alias("b")), Error);
  EXPECT_TRUE(indexes->Has(Alias("a")));
}

TEST_F(IndexMemory, AnIndexCountsUntilNobodyHoldsIt) {
  const ServedGraph graph = Serve(Clock::duration::zero());
  const auto indexes = graph.indexes(partition_->id());
  EdgeIndexes::Made held = indexes->Get(Alias("a"));
  const uint64_t bytes = held->size();
  EXPECT_EQ(budget_->used(), bytes);
  indexes->DropIdle(UINT64_MAX, Clock::duration::zero());
  EXPECT_EQ(budget_->used(), bytes);
  held.reset();
  indexes->DropIdle(UINT64_MAX, Clock::duration::zero());
  EXPECT_EQ(budget_->used(), 0U);
}

// The arrays that an earlier process has made count, too.
TEST_F(IndexMemory, AnIndexThatWasTakenOverCounts) {
  const ServedGraph first = Serve(Clock::duration::zero());
  const EdgeIndexes::Made made = first.indexes(partition_->id())->Get(Alias("a"));
  const auto budget = std::make_shared<IndexBudget>();
  const ServedGraph second({partition_}, {{{partition_->id(), Alias("a")}, made}}, 0, {}, {budget});
  second.indexes(partition_->id())->Get(Alias("a"));
  EXPECT_EQ(budget->used(), made->size());
}

}  // namespace
}  // namespace graphd
