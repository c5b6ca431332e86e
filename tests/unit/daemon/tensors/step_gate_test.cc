// SPDX-License-Identifier: Apache-2.0
#include "daemon/tensors/step_gate.h"

#include <gtest/gtest.h>

#include <atomic>
#include <functional>
#include <future>
#include <span>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "base/clock.h"
#include "daemon/tensors/push_client.h"
#include "graphd/error.h"
#include "tests/support/no_descriptors.h"
#include "tests/unit/format/scratch_directory.h"

namespace graphd {
namespace {

using store::TensorHost;
using testing::NoDescriptors;
using testing::ScratchDirectory;

class StepGateTest : public ::testing::Test {
 protected:
  explicit StepGateTest(int64_t num_nodes = 10, std::vector<int64_t> row_shape = {},
                        uint64_t memory_bytes = 0) {
    GraphMeta meta{"small", Schema::Homogeneous(),
                   PartitionBook(IdMap::FromRanges("node", {{{0, num_nodes}}}),
                                 IdMap::FromRanges("edge", {{{0, 6}}})),
                   "", 1};
    TensorHost::Options options;
    options.store.directory = scratch_ / "store";
    options.store.memory_bytes = memory_bytes;
    host_ = std::make_unique<TensorHost>(std::make_shared<const GraphMeta>(std::move(meta)),
                                         std::vector<PartId>{0}, std::move(options));
    TensorSpec spec;
    spec.name = "x";
    spec.row_shape = std::move(row_shape);
    const uint32_t table = host_->Open({"job", 1}, 0, spec, true, false).share.table;
    share_ = host_->FindToWrite("job", table);
    gate_ = std::make_unique<StepGate>(*host_, std::make_shared<FairPushes>());
    gate_->OnJobJoined("job");
    rule_.kind = UpdateKind::kSgd;
    rule_.lr = 1;
  }

  // Adds a trainer's part of a step: a gradient for one row.
  std::future<std::string> AddPart(int rank, uint64_t step, int64_t row, float gradient,
                                   int world_size = 2, uint32_t attempt = 0) {
    auto result = std::make_shared<std::promise<std::string>>();
    auto values = std::make_shared<std::vector<float>>(1, gradient);
    const auto bytes = std::as_bytes(std::span<const float>(*values));
    gate_->AddPart(
        share_, "job", {rank, world_size, attempt}, rule_, step, {{row}, bytes, values},
        [result](const Error* error) { result->set_value(error ? error->what() : "done"); });
    return result->get_future();
  }
  float Row(int64_t row) {
    float value = 0;
    share_->table->Read(std::span(&row, 1), reinterpret_cast<std::byte*>(&value));
    return value;
  }
  static bool IsOpen(const std::future<std::string>& future) {
    return future.wait_for(std::chrono::milliseconds(50)) == std::future_status::timeout;
  }

  const ScratchDirectory scratch_;
  std::unique_ptr<TensorHost> host_;
  TensorHost::SharePtr share_;
  std::unique_ptr<StepGate> gate_;
  UpdateRule rule_;
};

TEST_F(StepGateTest, AStepWaitsForAllTrainersAndAveragesTheirDuplicates) {
  auto second = AddPart(1, 1, 3, 4.0F);
  EXPECT_TRUE(IsOpen(second));
  EXPECT_EQ(Row(3), 0.0F);
  auto first = AddPart(0, 1, 3, 2.0F);
  EXPECT_EQ(first.get(), "done");
  EXPECT_EQ(second.get(), "done");
  EXPECT_EQ(Row(3), -3.0F);  // the mean of both
  EXPECT_EQ(host_->LastSequence(PushClients("job").OfSteps(share_->table->id())), 1U);
}

TEST_F(StepGateTest, AStepThatWasPushedBeforeIsDoneAtOnce) {
  AddPart(0, 1, 0, 1.0F, 1).get();
  EXPECT_EQ(AddPart(0, 1, 0, 1.0F, 1).get(), "done");
  EXPECT_EQ(Row(0), -1.0F);
}

TEST_F(StepGateTest, APartThatIsAddedAgainCountsOnce) {
  auto lost = AddPart(0, 1, 0, 1.0F);
  auto again = AddPart(0, 1, 0, 1.0F);
  AddPart(1, 1, 1, 1.0F).get();
  EXPECT_EQ(again.get(), "done");
  EXPECT_EQ(Row(0), -1.0F);
}

TEST_F(StepGateTest, StepsMustBeInOrderAndHaveOneRule) {
  EXPECT_THROW(AddPart(0, 2, 0, 1.0F), Error);
  auto waiting = AddPart(0, 1, 0, 1.0F);
  rule_.lr = 2;
  EXPECT_THROW(AddPart(1, 1, 0, 1.0F), Error);
  rule_.lr = 1;
  AddPart(1, 1, 0, 1.0F).get();
  EXPECT_EQ(waiting.get(), "done");
}

TEST_F(StepGateTest, ATrainerThatLeavesFailsTheStepOfTheOthers) {
  auto waiting = AddPart(0, 1, 0, 1.0F);
  gate_->TrainerLeft("other", 1);
  EXPECT_TRUE(IsOpen(waiting));
  gate_->TrainerLeft("job", 1);
  EXPECT_EQ(waiting.get(), "step: trainer 1 has left the job");
  EXPECT_EQ(Row(0), 0.0F);
  auto again = AddPart(0, 1, 0, 1.0F);
  AddPart(1, 1, 0, 3.0F).get();
  EXPECT_EQ(again.get(), "done");
  EXPECT_EQ(Row(0), -2.0F);
}

TEST_F(StepGateTest, APartThatIsAddedAgainWhileACheckpointHoldsItsStepWaitsForIt) {
  auto hold = host_->store().HoldPushes();
  auto first = AddPart(0, 1, 0, 2.0F), lost = AddPart(1, 1, 0, 4.0F);
  gate_->TrainerLeft("job", 1);
  auto again = AddPart(1, 1, 0, 4.0F);
  EXPECT_TRUE(IsOpen(first));
  EXPECT_TRUE(IsOpen(again));
  hold = nullptr;
  ASSERT_EQ(again.wait_for(std::chrono::seconds(60)), std::future_status::ready);
  EXPECT_EQ(again.get(), "done");
  EXPECT_EQ(first.get(), "done");
  EXPECT_EQ(lost.get(), "done");
  EXPECT_EQ(Row(0), -3.0F);
}

TEST_F(StepGateTest, PartsOfEarlierAttemptsAreDroppedAndRefused) {
  auto dropped = AddPart(2, 1, 0, 8.0F, 3, 1);
  gate_->OnAttemptBegun("job", 2);
  EXPECT_EQ(
      dropped.get(),
      "step: job job was started again (attempt 2), and this trainer is of an earlier attempt; "
      "it should end");
  // A thread that has begun before adds it now.
  EXPECT_THROW(AddPart(0, 1, 0, 8.0F, 3, 1), Error);
  auto first = AddPart(0, 1, 0, 2.0F, 2, 2);
  EXPECT_TRUE(IsOpen(first));
  AddPart(1, 1, 0, 4.0F, 2, 2).get();
  EXPECT_EQ(first.get(), "done");
  EXPECT_EQ(Row(0), -3.0F);
  gate_->OnJobLeft("job");
  gate_->OnJobJoined("job");
  EXPECT_EQ(AddPart(0, 2, 0, 1.0F, 1, 1).get(), "done");
}

TEST_F(StepGateTest, PartsAreRefusedAfterTheirJobHasLeft) {
  gate_->OnJobLeft("job");
  EXPECT_THROW(AddPart(0, 1, 0, 1.0F), Error);
  gate_->OnJobJoined("job");
  EXPECT_EQ(AddPart(0, 1, 0, 1.0F, 1).get(), "done");
}

// Otherwise a job could make steps without end, of which none is charged to it.
TEST_F(StepGateTest, APartThatIsRefusedLeavesNoStep) {
  const auto all = std::make_shared<MemoryAccount>("all", 1 << 20, "remedy");
  const auto account = std::make_shared<MemoryAccount>("job", all);
  account->ChargeAnyway(600 << 10);
  const auto add = [&](uint64_t step) {
    try {
      gate_->AddPart(share_, "job", {0, 2, 0}, rule_, step, {{}, {}, nullptr, account},
                     [](const Error*) {});
      return std::string("no error");
    } catch (const Error& error) {
      return std::string(ErrorCodeName(error.code()));
    }
  };
  EXPECT_EQ(add(1), "overloaded");
  EXPECT_EQ(add(2), "invalid");  // out of order
  EXPECT_EQ(add(1), "overloaded");
}

class StepGateWithLittleMemory : public StepGateTest {
 protected:
  static constexpr size_t kPages = 300;  // more than half of those for which there is memory
  StepGateWithLittleMemory() : StepGateTest(100'000, {64}, uint64_t{8} << 20) {}

  // Returns the first rows of the pages of a push.
  static std::vector<int64_t> RowsOf(int64_t push) {
    std::vector<int64_t> rows;
    for (size_t i = 0; i < kPages; i++) rows.push_back((push * int64_t{kPages} + int64_t(i)) * 64);
    return rows;
  }
  void Push(uint64_t number) {
    const std::vector<int64_t> rows = RowsOf(static_cast<int64_t>(number) - 1);
    store::Push push;
    push.table = share_->table->id();
    push.rule = rule_;
    push.client = {1, 1};
    push.sequence = number;
    push.rows = rows;
    push.payload = payload_;
    host_->store().Apply(share_->table, push);
  }
  void AddPart(uint64_t step) {
    gate_->AddPart(share_, "job", {0, 1, 0}, rule_, step,
                   {RowsOf(static_cast<int64_t>(step) + 2), payload_, nullptr},
                   [this](const Error* error) { done_ += error == nullptr; });
  }

  const std::vector<float> values_ = std::vector<float>(kPages * 64, 1.0F);
  const std::span<const std::byte> payload_ = std::as_bytes(std::span(values_));
  std::atomic<int> done_ = 0;
};

// All attaches and ends of jobs take the mutex that is held while trainers leave.
TEST_F(StepGateWithLittleMemory, ATrainerMayLeaveWhileStepsWaitForMemory) {
  Push(1);  // opens the log
  std::vector<std::thread> waiting;
  std::future<void> left;
  {
    // Changed pages stay in memory, because RocksDB can write no file.
    const NoDescriptors shortage;
    const auto begin = [&](const std::function<void()>& f) {
      waiting.emplace_back(f);
      std::this_thread::sleep_for(std::chrono::milliseconds(300));  // it waits for memory
    };
    begin([this] {
      for (uint64_t i = 2; i <= 3; i++) Push(i);
    });
    begin([this] { AddPart(1); });
    begin([this] { AddPart(2); });
    EXPECT_EQ(done_, 0);
    left = std::async(std::launch::async, [this] { gate_->TrainerLeft("job", 1); });
    EXPECT_EQ(left.wait_for(std::chrono::seconds(20)), std::future_status::ready);
  }
  for (std::thread& thread : waiting) thread.join();
  const auto end = Clock::now() + std::chrono::minutes(1);
  while (done_ < 2 && Clock::now() < end) std::this_thread::sleep_for(std::chrono::milliseconds(5));
  EXPECT_EQ(done_, 2);
}

}  // namespace
}  // namespace graphd
