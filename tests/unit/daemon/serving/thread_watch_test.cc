// SPDX-License-Identifier: Apache-2.0
#include "daemon/serving/thread_watch.h"

#include <gtest/gtest.h>

#include <future>
#include <map>
#include <memory>
#include <string>
#include <thread>

namespace graphd {
namespace {

// A watched thread that does what it is told.
class Worker {
 public:
  Worker(const std::string& name, std::chrono::seconds longest)
      : thread_(
            [this, name, longest](std::promise<void> ready) {
              const WatchedThread watched(name, longest);
              ready.set_value();
              while (!ended_) {
                if (counts_.exchange(false)) {
                  WatchedThread::CountProgress();
                  counted_ = true;
                }
                std::this_thread::yield();
              }
            },
            MakeReady()) {
    ready_.get();
  }
  ~Worker() {
    ended_ = true;
    thread_.join();
  }
  void CountProgress() {
    counted_ = false;
    counts_ = true;
    while (!counted_) std::this_thread::yield();
  }

 private:
  std::promise<void> MakeReady() {
    std::promise<void> ready;
    ready_ = ready.get_future();
    return ready;
  }
  std::future<void> ready_;
  std::atomic<bool> ended_{false}, counts_{false}, counted_{false};
  std::thread thread_;
};

TEST(ThreadWatch, AThreadWithoutProgressHangsUntilItGoesOn) {
  Worker first("first", std::chrono::seconds(10)), second("second", std::chrono::seconds(20));
  ThreadWatch watch;
  Clock::time_point now = Clock::now();
  const auto check_after_a_second = [&](bool first_counts, bool second_counts) {
    if (first_counts) first.CountProgress();
    if (second_counts) second.CountProgress();
    now += ThreadWatch::kPeriod;
    return watch.Check(now);
  };
  for (int i = 0; i < 30; i++) EXPECT_TRUE(check_after_a_second(true, true));
  for (int i = 0; i < 10; i++) EXPECT_TRUE(check_after_a_second(false, false));
  ::testing::internal::CaptureStderr();
  EXPECT_FALSE(check_after_a_second(false, false));
  EXPECT_TRUE(check_after_a_second(true, false));
  for (int i = 0; i < 8; i++) EXPECT_TRUE(check_after_a_second(true, false));
  for (int i = 0; i < 5; i++) EXPECT_FALSE(check_after_a_second(true, false));
  EXPECT_TRUE(check_after_a_second(true, true));
  const std::string log = ::testing::internal::GetCapturedStderr();
  EXPECT_NE(log.find("thread 'first' has hung for 11 s"), std::string::npos) << log;
  EXPECT_NE(log.find("thread 'first' goes on"), std::string::npos) << log;
  EXPECT_NE(log.find("thread 'second' has hung for 21 s"), std::string::npos) << log;
  EXPECT_NE(log.find("thread 'second' goes on"), std::string::npos) << log;
}

TEST(ThreadWatch, AThreadThatHasEndedDoesNotHang) {
  auto worker = std::make_unique<Worker>("worker", std::chrono::seconds(1));
  ThreadWatch watch;
  Clock::time_point now = Clock::now();
  ::testing::internal::CaptureStderr();
  EXPECT_TRUE(watch.Check(now += ThreadWatch::kPeriod));
  EXPECT_TRUE(watch.Check(now += ThreadWatch::kPeriod));
  EXPECT_FALSE(watch.Check(now += ThreadWatch::kPeriod));
  worker = nullptr;
  EXPECT_TRUE(watch.Check(now += ThreadWatch::kPeriod));
  ::testing::internal::GetCapturedStderr();
}

TEST(ThreadWatch, AProcessIsAliveWhileChecksFindNoThreadThatHangs) {
  Worker worker("worker", ThreadWatch::kLongestOfLoop);
  ThreadWatch watch;
  Clock::time_point now = Clock::now();
  EXPECT_TRUE(watch.IsAlive(now + std::chrono::hours(1)));  // it loads, and makes no checks
  const auto check_after_a_second = [&](bool counts) {
    if (counts) worker.CountProgress();
    now += ThreadWatch::kPeriod;
    watch.Check(now);
    return watch.IsAlive(now);
  };
  EXPECT_TRUE(check_after_a_second(true));
  EXPECT_FALSE(watch.IsAlive(now + ThreadWatch::kDead));  // the main thread hangs itself
  const int64_t seconds = (ThreadWatch::kLongestOfLoop + ThreadWatch::kDead).count();
  ::testing::internal::CaptureStderr();
  for (int64_t i = 0; i < seconds - 1; i++) EXPECT_TRUE(check_after_a_second(false)) << i;
  check_after_a_second(false);
  EXPECT_FALSE(check_after_a_second(false));
  EXPECT_TRUE(check_after_a_second(true));
  ::testing::internal::GetCapturedStderr();
}

TEST(ThreadWatch, AProcessThatWasStoppedDoesNotHang) {
  const Worker worker("worker", std::chrono::seconds(1));
  ThreadWatch watch;
  Clock::time_point now = Clock::now();
  EXPECT_TRUE(watch.Check(now));
  EXPECT_TRUE(watch.Check(now + std::chrono::hours(1)));
}

}  // namespace
}  // namespace graphd
