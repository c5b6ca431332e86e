// SPDX-License-Identifier: Apache-2.0
#include "store/log/pipeline.h"

#include <gtest/gtest.h>

#include <atomic>
#include <future>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "tests/unit/store/store_helpers.h"

namespace graphd::store::testing {
namespace {

// A push of kAdd that owns its rows and payload.
struct OwnedAdd {
  std::vector<int64_t> rows;
  std::vector<float> values;

  explicit OwnedAdd(int64_t num_rows) {
    for (int64_t row = 0; row < num_rows; row++) rows.push_back(row);
    values.assign(rows.size() * kElements, 1.0F);
  }
  Push ToPush(uint64_t client, JobShare share) const {
    Push push;
    push.rule.kind = UpdateKind::kAdd;
    push.client = {client, client};
    push.sequence = 1;
    push.rows = rows;
    push.payload = std::as_bytes(std::span(values));
    push.share = share;
    return push;
  }
};

// A store with one thread that applies pushes, and one table for each of three jobs.
class PipelineTest : public ::testing::Test {
 protected:
  PipelineTest() {
    StoreOptions options = Options(scratch_);
    options.durability = Durability::kNone;  // a push is applied as soon as it is submitted
    options.threads = 1;
    store_.emplace(options);
    for (const char* name : {"first", "large", "small"}) {
      TableSpec spec = Spec(name, OptimizerState::kNone);
      spec.rows = kLargeRows;
      tables_.push_back(store_->OpenTable(spec));
    }
  }
  // Keeps the only thread in a callback until the result is set.
  void Block() {
    std::promise<void> blocked;
    store_->Submit(tables_[0], one_.ToPush(1, {1}), [this, &blocked](const Error*) {
      blocked.set_value();
      go_on_.get_future().wait();
    });
    blocked.get_future().wait();
  }
  void Submit(size_t table, const OwnedAdd& push, uint64_t client, JobShare share,
              const std::string& name) {
    waiting_++;
    store_->Submit(tables_[table], push.ToPush(client, share), [this, name](const Error* error) {
      done_.push_back(error == nullptr ? name : error->what());
      if (--waiting_ == 0) all_done_.set_value();
    });
  }

  static constexpr int64_t kLargeRows = 100'000;  // several pieces in each lane
  const graphd::testing::ScratchDirectory scratch_;
  const OwnedAdd one_{1}, many_{kLargeRows};
  std::optional<Store> store_;
  std::vector<std::shared_ptr<Table>> tables_;
  std::promise<void> go_on_, all_done_;
  std::vector<std::string> done_;
  std::atomic<int> waiting_ = 0;
};

TEST_F(PipelineTest, ASmallPushDoesNotWaitForALargeOneOfAnotherJob) {
  Block();
  Submit(1, many_, 2, {2}, "large");
  Submit(2, one_, 3, {3}, "small");
  go_on_.set_value();
  all_done_.get_future().wait();
  EXPECT_EQ(done_, (std::vector<std::string>{"small", "large"}));
  for (const float value : AllRows(*tables_[1])) ASSERT_TRUE(value >= 0 && value <= 2);
}

TEST_F(PipelineTest, AJobOfMoreWeightIsDoneEarlier) {
  Block();
  Submit(1, many_, 2, {2, 1}, "light");
  Submit(2, many_, 3, {3, 4}, "heavy");
  go_on_.set_value();
  all_done_.get_future().wait();
  EXPECT_EQ(done_, (std::vector<std::string>{"heavy", "light"}));
}

TEST_F(PipelineTest, PushesOfATableAreDoneInTheirOrderWhateverTheirJobsAre) {
  Block();
  Submit(1, many_, 2, {2}, "large");
  Submit(1, one_, 3, {3}, "small");
  Submit(1, one_, 4, {4}, "another");
  go_on_.set_value();
  all_done_.get_future().wait();
  EXPECT_EQ(done_, (std::vector<std::string>{"large", "small", "another"}));
}

}  // namespace
}  // namespace graphd::store::testing
