// SPDX-License-Identifier: Apache-2.0
// Tests of what the daemon copies of a hop that is too large.
#include <capnp/message.h>
#include <capnp/serialize.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstring>
#include <memory>
#include <utility>

#include "base/strings.h"
#include "daemon/graph/hop_job.h"
#include "format/load.h"
#include "tests/unit/format/one_partition.h"
#include "tests/unit/format/raw_graph_samples.h"
#include "tests/unit/format/scratch_directory.h"
#include "wire/tensor_stream.h"

namespace graphd::testing {
namespace {

class HopBounds : public ::testing::Test {
 protected:
  HopBounds() {
    partition_ =
        LoadPartition(WriteOnePartition(HomogeneousGraph(100, {{0, 1}}), scratch_.path()), 0);
    indexes_ = std::make_shared<EdgeIndexes>(partition_);
  }
  // Makes the job of hop_ with so much memory for clients.
  std::unique_ptr<HopJob> Make(size_t memory) {
    account_ = std::make_shared<MemoryAccount>("clients", memory, "");
    return std::make_unique<HopJob>(partition_, indexes_, BufferPool::Create()->ChargedTo(account_),
                                    hop_.asReader());
  }
  // Fills hop_ with a list of `seeds` seeds and `rules` rules for them.
  void FillHop(size_t seeds, uint32_t rules) {
    std::memset(hop_.initSeeds(1)[0].initIds(static_cast<uint32_t>(seeds * 4)).begin(), 0,
                seeds * 4);
    for (auto rule : hop_.initRules(rules)) rule.setFanout(1 << 20);
  }

  const ScratchDirectory scratch_;
  std::shared_ptr<const Partition> partition_;
  std::shared_ptr<EdgeIndexes> indexes_;
  std::shared_ptr<MemoryAccount> account_;
  // Behind a pointer because its destructor may throw.
  const std::unique_ptr<capnp::MallocMessageBuilder> message_ =
      std::make_unique<capnp::MallocMessageBuilder>();
  wire::Session::HopParams::Builder hop_ = message_->initRoot<wire::Session::HopParams>();
};

TEST_F(HopBounds, ListsOfSeedsAreNotCopiedBeyondTheMostInAll) {
  // There is memory for the two lists that together have as many seeds as a hop may have.
  constexpr size_t kListBytes = kMaxIds / 2 * 4;
  auto lists = hop_.initSeeds(3);
  for (auto list : lists) list.initIds(kListBytes);
  try {
    Make(3 * kListBytes - 1);
    FAIL() << "no error";
  } catch (const Error& error) {
    EXPECT_THAT(error.what(), ::testing::HasSubstr("6291456 seeds in one hop, at most 4194304"));
  }
  EXPECT_EQ(account_->used(), 0u);
}

TEST_F(HopBounds, ARequestHasABoundedNumberOfSlicesWhichAreCharged) {
  for (const auto& [seeds, rules] : {std::pair<size_t, uint32_t>{kMaxIds, 1}, {16384, 200}}) {
    FillHop(seeds, rules);
    const auto job = Make(SIZE_MAX / 2);
    EXPECT_GT(job->num_slices(), HopJob::kMaxSlices / 2);
    EXPECT_LE(job->num_slices(), HopJob::kMaxSlices + rules);
    // A slice has at least the vectors of its edges.
    EXPECT_GT(account_->used(), seeds * 4 + job->num_slices() * 100);
  }
}

// A connection bounds what may be visited of a message, and each look at a list counts all of it.
TEST_F(HopBounds, ManyRulesForFewSeedsAreWithinWhatMayBeVisitedOfAMessage) {
  FillHop(10, 300);
  const auto words = capnp::messageToFlatArray(*message_);
  capnp::ReaderOptions limits;
  limits.traversalLimitInWords = VisitLimit(words.asBytes().size());
  capnp::FlatArrayMessageReader message(words, limits);
  account_ = std::make_shared<MemoryAccount>("clients", SIZE_MAX / 2, "");
  const HopJob job(partition_, indexes_, BufferPool::Create()->ChargedTo(account_),
                   message.getRoot<wire::Session::HopParams>());
  EXPECT_EQ(job.num_rules(), 300u);
}

TEST_F(HopBounds, SlicesForWhichThereIsNoMemoryAreRefused) {
  FillHop(16384, 200);
  try {
    Make(size_t{1} << 20);
    FAIL() << "no error";
  } catch (const Error& error) {
    EXPECT_EQ(error.code(), ErrorCode::kOverloaded) << error.what();
  }
  EXPECT_EQ(account_->used(), 0u);
}

}  // namespace
}  // namespace graphd::testing
