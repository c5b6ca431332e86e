// SPDX-License-Identifier: Apache-2.0
// Tests of which indexes are kept, which are dropped when memory is short, and how threads share
// the making of one.
#include "sampling/index/edge_indexes.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <functional>
#include <future>
#include <utility>

#include "graphd/interrupt.h"
#include "tests/unit/sampling/tiny_partition.h"

namespace graphd::testing {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;

constexpr auto kNow = Clock::duration::zero();
const EdgeIndexSpec kOut{EdgeIndexKind::kOut, false, 0, ""};
const EdgeIndexSpec kAliasA{EdgeIndexKind::kAlias, false, 0, "a"};
const EdgeIndexSpec kAliasB{EdgeIndexKind::kAlias, false, 0, "b"};
const EdgeIndexSpec kAliasOut{EdgeIndexKind::kAlias, true, 0, "a"};

class DropIdle : public ::testing::Test {
 protected:
  static std::shared_ptr<const Partition> MakePartition() {
    TinyGraph graph = Star(1000);
    graph.features.emplace_back("a", Column(std::vector<double>(1000, 1.0)));
    graph.features.emplace_back("b", Column(std::vector<double>(1000, 2.0)));
    return graph.Build();
  }
  std::vector<EdgeIndexSpec> Drop(uint64_t bytes, Clock::duration idle = kNow) {
    std::vector<EdgeIndexSpec> specs;
    for (const auto& dropped : indexes_.DropIdle(bytes, idle)) {
      EXPECT_GT(dropped.bytes, 0U);
      specs.push_back(dropped.spec);
    }
    return specs;
  }

  EdgeIndexes indexes_{MakePartition()};
};

TEST_F(DropIdle, DropsWhatWasNotUsedForTheLongestTime) {
  indexes_.Get(kAliasA);
  indexes_.Get(kAliasB);
  indexes_.Out(0);
  indexes_.Alias(0, false, "a");  // uses it again
  const uint64_t all = indexes_.bytes();
  EXPECT_THAT(Drop(1), ElementsAre(kAliasB));
  EXPECT_LT(indexes_.bytes(), all);
  EXPECT_FALSE(indexes_.Has(kAliasB));
  EXPECT_THAT(Drop(UINT64_MAX), ElementsAre(kOut, kAliasA));
  EXPECT_EQ(indexes_.bytes(), 0U);
}

TEST_F(DropIdle, ADroppedIndexIsMadeAgain) {
  const std::weak_ptr<const Segment> first = indexes_.Get(kAliasA);
  EXPECT_THAT(Drop(1), ElementsAre(kAliasA));
  EXPECT_TRUE(first.expired()) << "its memory is free";
  EXPECT_NE(indexes_.Alias(0, false, "a"), nullptr);
  EXPECT_TRUE(indexes_.Has(kAliasA));
}

TEST_F(DropIdle, WhatIsInUseOrWasUsedLatelyStays) {
  const auto held = indexes_.Alias(0, false, "a");
  const auto rows = indexes_.Rows(0, true);
  EXPECT_THAT(Drop(UINT64_MAX), IsEmpty());
  EXPECT_TRUE(indexes_.Has(kAliasA) && indexes_.Has(kOut));
  indexes_.Get(kAliasB);
  EXPECT_THAT(Drop(UINT64_MAX, std::chrono::hours(1)), IsEmpty());
  EXPECT_THAT(Drop(UINT64_MAX), ElementsAre(kAliasB));
}

TEST_F(DropIdle, WhatIsKeptStays) {
  indexes_.Keep(kAliasA);
  indexes_.Get(kAliasA);
  indexes_.Get(kAliasB);
  EXPECT_THAT(Drop(UINT64_MAX), ElementsAre(kAliasB));
  EXPECT_TRUE(indexes_.Has(kAliasA));
}

TEST_F(DropIdle, AnIndexOverEdgesBySourceOutlivesNone) {
  indexes_.Get(kAliasOut);
  EXPECT_THAT(Drop(1), ElementsAre(kAliasOut)) << "it uses the arrays of the other one";
  indexes_.Get(kAliasOut);
  const auto held = indexes_.Alias(0, true, "a");
  EXPECT_THAT(Drop(UINT64_MAX), IsEmpty());
  for (uint64_t slot = 0; slot < 1000; slot++) EXPECT_EQ(held->weight(slot), 1.0);
}

TEST_F(DropIdle, WhatAKeptIndexUsesStays) {
  indexes_.Keep(kAliasOut);
  EXPECT_THAT(Drop(UINT64_MAX), IsEmpty());
}

TEST_F(DropIdle, AskingForAnIndexIsAUse) {
  indexes_.Get(kAliasA);
  indexes_.Get(kAliasB);
  EXPECT_TRUE(indexes_.Has(kAliasA));
  EXPECT_THAT(Drop(1), ElementsAre(kAliasB));
}

TEST(DropIdleWhileMaking, AnIndexFromWhichAnotherIsMadeStays) {
  const auto partition = []() {
    TinyGraph graph = Star(10);
    graph.features.emplace_back("a", Column(std::vector<double>(10, 1.0)));
    return graph.Build();
  }();
  EdgeIndexes* self = nullptr;
  std::vector<EdgeIndexSpec> dropped;
  EdgeIndexes indexes(partition,
                      [&](const EdgeIndexSpec& spec, const EdgeIndexes::Made& by_source) {
                        if (spec.kind == EdgeIndexKind::kAlias) {
                          for (const auto& each : self->DropIdle(UINT64_MAX, kNow))
                            dropped.push_back(each.spec);
                        }
                        return BuildEdgeIndex(*partition, spec, by_source);
                      });
  self = &indexes;
  indexes.Get(kAliasOut);
  EXPECT_THAT(dropped, IsEmpty());
  EXPECT_TRUE(indexes.Has(kOut) && indexes.Has(kAliasOut));
}

// Indexes of which the first attempt to make one fails, but only after another thread has begun to
// wait for it.
class SharedMaking : public ::testing::Test {
 protected:
  struct Interrupted {};

  // Gets the index in another thread, and returns once that thread is making it. The thread throws
  // `error` out of its attempt.
  template <class E>
  std::future<bool> GetElsewhere(E error) {
    fail_ = [error] { throw error; };
    auto thrown = std::async(std::launch::async, [this] {
      try {
        indexes_.Get(kOut);
        return false;
      } catch (const E&) {
        return true;
      }
    });
    begun_.get_future().wait();
    return thrown;
  }
  // Lets the attempt fail as soon as this thread waits for it.
  void Leave() {
    if (!std::exchange(has_left_, true)) leave_.set_value();
  }

  const std::shared_ptr<const Partition> partition_ = Star(10).Build();
  std::promise<void> begun_, leave_;
  std::function<void()> fail_;
  bool has_left_ = false;
  int made_ = 0;
  EdgeIndexes indexes_{partition_, [this](const EdgeIndexSpec& spec, const EdgeIndexes::Made& by) {
                         if (++made_ == 1) {
                           begun_.set_value();
                           leave_.get_future().wait();
                           fail_();
                         }
                         return BuildEdgeIndex(*partition_, spec, by);
                       }};
};

TEST_F(SharedMaking, AnInterruptionDoesNotReachThoseThatWait) {
  auto interrupted = GetElsewhere(Interrupted());
  const InterruptCheck check([this] { Leave(); });
  EXPECT_NE(indexes_.Get(kOut), nullptr);
  EXPECT_TRUE(interrupted.get());
  EXPECT_EQ(made_, 2);
}

TEST_F(SharedMaking, AnErrorReachesThoseThatWait) {
  auto failed = GetElsewhere(Error(ErrorCode::kIo, "no index"));
  const InterruptCheck check([this] { Leave(); });
  EXPECT_THROW(indexes_.Get(kOut), Error);
  EXPECT_TRUE(failed.get());
  EXPECT_NE(indexes_.Get(kOut), nullptr) << "the next call tries again";
}

TEST_F(SharedMaking, AWaitCanBeInterrupted) {
  auto failed = GetElsewhere(Error(ErrorCode::kIo, "no index"));
  {
    const InterruptCheck check([] { throw Interrupted(); });
    EXPECT_THROW(indexes_.Get(kOut), Interrupted);
  }
  Leave();
  EXPECT_TRUE(failed.get());
}

}  // namespace
}  // namespace graphd::testing
