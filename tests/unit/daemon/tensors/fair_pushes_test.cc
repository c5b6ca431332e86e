// SPDX-License-Identifier: Apache-2.0
#include "daemon/tensors/fair_pushes.h"

#include <gtest/gtest.h>

#include <atomic>
#include <deque>
#include <new>
#include <string>
#include <thread>
#include <vector>

#include "graphd/error.h"

namespace graphd {
namespace {

constexpr uint64_t kGreedy = 1, kModest = 2;
constexpr size_t kMiB = size_t{1} << 20;

// Collects what is submitted, and does it when the test says so.
class FairPushesTest : public ::testing::Test {
 protected:
  void Push(uint64_t job, size_t bytes, const std::string& name) {
    pushes_->Run(
        job, bytes,
        [this, name](const FairPushes::Done& done) {
          in_store_.push_back({name, done});
        },
        [this, name](const Error* error) { done_.push_back(error ? error->what() : name); });
  }
  // Does the first push in the store, as the pipeline would.
  void DoFirst() {
    const auto first = in_store_.front();
    in_store_.pop_front();
    first.second(nullptr);
  }

  std::shared_ptr<FairPushes> pushes_ = std::make_shared<FairPushes>();
  std::deque<std::pair<std::string, FairPushes::Done>> in_store_;
  std::vector<std::string> done_;
};

TEST_F(FairPushesTest, AJobThatIsAloneMayHaveManyInTheStore) {
  for (int i = 0; i < 10; i++) Push(kGreedy, 4 * kMiB, std::to_string(i));
  EXPECT_EQ(in_store_.size(), FairPushes::kAloneBytes / (4 * kMiB));
  while (!in_store_.empty()) DoFirst();
  EXPECT_EQ(done_, (std::vector<std::string>{"0", "1", "2", "3", "4", "5", "6", "7", "8", "9"}));
}

TEST_F(FairPushesTest, BesideAnotherJobOnlyOneLargePushIsInTheStore) {
  Push(kModest, kMiB, "earlier");
  for (int i = 0; i < 10; i++) Push(kGreedy, 4 * kMiB, "greedy");
  EXPECT_EQ(in_store_.size(), 2U);
  DoFirst();
  DoFirst();
  Push(kModest, kMiB, "modest");
  EXPECT_EQ(in_store_.size(), 2U) << "one of each job";
  EXPECT_EQ(in_store_.back().first, "modest");
  for (int i = 0; i < 10; i++) DoFirst();
  EXPECT_EQ(done_.size(), 12U);
}

TEST_F(FairPushesTest, SmallPushesAreNotSentOneByOne) {
  Push(kModest, kMiB, "earlier");
  for (int i = 0; i < 100; i++) Push(kGreedy, kMiB / 64, "small");
  EXPECT_EQ(in_store_.size(), 1U + 64U);
}

TEST_F(FairPushesTest, AnErrorOfTheStoreEndsOnlyItsPush) {
  pushes_->Run(
      kGreedy, 1, [](const FairPushes::Done&) { throw Error(ErrorCode::kOverloaded, "full"); },
      [this](const Error* error) { done_.push_back(error->what()); });
  Push(kGreedy, 1, "next");
  DoFirst();
  EXPECT_EQ(done_, (std::vector<std::string>{"full", "next"}));
}

TEST_F(FairPushesTest, PushesThatAreDoneAtOnceDoNotRecur) {
  Push(kGreedy, FairPushes::kAloneBytes, "first");
  size_t done = 0;
  for (int i = 0; i < 100'000; i++) {
    pushes_->Run(
        kGreedy, 1, [](const FairPushes::Done& next) { next(nullptr); },
        [&](const Error*) { done++; });
  }
  EXPECT_EQ(done, 0U);
  DoFirst();
  EXPECT_EQ(done, 100'000U);
}

TEST_F(FairPushesTest, ACallbackThatThrowsStopsNoLaterPush) {
  const auto submit = [](const FairPushes::Done& done) { done(nullptr); };
  int calls = 0;
  pushes_->Run(kGreedy, kMiB, submit, [&](const Error*) {
    calls++;
    throw std::bad_alloc();
  });
  for (int i = 0; i < 40; i++) pushes_->Run(kGreedy, kMiB, submit, [&](const Error*) { calls++; });
  EXPECT_EQ(calls, 41);
}

TEST_F(FairPushesTest, AStopFailsWhatWaits) {
  Push(kGreedy, FairPushes::kAloneBytes, "first");
  Push(kGreedy, 1, "second");
  pushes_->Stop();
  EXPECT_EQ(done_, (std::vector<std::string>{"this graphd is shutting down"}));
  EXPECT_THROW(Push(kGreedy, 1, "third"), Error);
  DoFirst();
  EXPECT_EQ(done_.size(), 2U);
}

TEST(FairPushes, PushesOfManyThreadsAreAllDone) {
  const auto pushes = std::make_shared<FairPushes>();
  std::atomic<int> done{0};
  std::vector<std::thread> threads;
  for (uint64_t job = 0; job < 4; job++) {
    threads.emplace_back([&, job] {
      for (int i = 0; i < 2000; i++) {
        pushes->Run(
            job, kMiB, [](const FairPushes::Done& next) { next(nullptr); },
            [&](const Error*) { done++; });
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(done, 8000);
}

}  // namespace
}  // namespace graphd
