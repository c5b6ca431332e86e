// SPDX-License-Identifier: Apache-2.0
#include "graphd/batch_queue.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <pthread.h>

#include <atomic>
#include <chrono>
#include <condition_variable>
#include <future>
#include <latch>
#include <mutex>
#include <new>
#include <set>
#include <stdexcept>
#include <thread>
#include <vector>

#include "graphd/error.h"

namespace graphd {
namespace {

using ::testing::HasSubstr;
constexpr auto kDeadline = std::chrono::seconds(60);

// A counter that threads can wait for.
class Counter {
 public:
  void Add(int64_t n = 1) {
    std::lock_guard lock(mutex_);
    value_ += n;
    changed_.notify_all();
  }
  bool WaitFor(int64_t wanted) {
    std::unique_lock lock(mutex_);
    return changed_.wait_for(lock, kDeadline, [&] { return value_ >= wanted; });
  }
  int64_t value() {
    std::lock_guard lock(mutex_);
    return value_;
  }

 private:
  std::mutex mutex_;
  std::condition_variable changed_;
  int64_t value_ = 0;
};

int64_t Same(int64_t index, const std::stop_token&) { return index; }

// Waits until the batch is no longer needed.
bool WaitForStop(const std::stop_token& stop) {
  std::mutex mutex;
  std::condition_variable_any never;
  std::unique_lock lock(mutex);
  never.wait_for(lock, stop, kDeadline, [] { return false; });
  return stop.stop_requested();
}

class BatchQueueWorkers : public ::testing::TestWithParam<int> {};

TEST_P(BatchQueueWorkers, DeliverInOrderForAllDurations) {
  for (int64_t size : {1, 2, 7, 1000}) {
    BatchQueue<int64_t> queue(200,
                              [](int64_t index, const std::stop_token&) {
                                if (index % 3 == 0) std::this_thread::yield();
                                return index;
                              },
                              {.num_workers = GetParam(), .queue_size = size});
    for (int64_t i = 0; i < 200; i++) EXPECT_EQ(queue.Next(), i);
    EXPECT_EQ(queue.Next(), std::nullopt);
    EXPECT_EQ(queue.Next(), std::nullopt);
  }
}

TEST_P(BatchQueueWorkers, DeliverEachBatchOnceInOrderOfCompletion) {
  BatchQueue<int64_t> queue(200, Same,
                            {.num_workers = GetParam(), .queue_size = 5, .ordered = false});
  std::set<int64_t> seen;
  while (auto index = queue.Next()) EXPECT_TRUE(seen.insert(*index).second);
  EXPECT_EQ(seen.size(), 200u);
}

TEST_P(BatchQueueWorkers, RethrowExceptionsWithTheirBatchAndContinue) {
  BatchQueue<int64_t> queue(8,
                            [](int64_t index, const std::stop_token&) {
                              if (index == 1)
                                throw Error(ErrorCode::kUnavailable, "the graphd at nowhere");
                              if (index == 3) throw std::bad_alloc();
                              if (index == 5) throw 5;
                              if (index == 7) throw std::runtime_error("the last");
                              return index;
                            },
                            {.num_workers = GetParam(), .queue_size = 3});
  EXPECT_EQ(queue.Next(), 0);
  EXPECT_THROW(queue.Next(), Error);
  EXPECT_EQ(queue.Next(), 2);
  EXPECT_THROW(queue.Next(), std::bad_alloc);
  EXPECT_EQ(queue.Next(), 4);
  EXPECT_THROW(queue.Next(), int);
  EXPECT_EQ(queue.Next(), 6);
  EXPECT_THROW(queue.Next(), std::runtime_error);
  EXPECT_EQ(queue.Next(), std::nullopt);
}

TEST_P(BatchQueueWorkers, StopAtAnyPoint) {
  for (int64_t taken = 0; taken < 30; taken++) {
    BatchQueue<int64_t> queue(30, Same, {.num_workers = GetParam(), .queue_size = 4});
    for (int64_t i = 0; i < taken; i++) EXPECT_EQ(queue.Next(), i);
  }
}

TEST_P(BatchQueueWorkers, DeliverNothingWithoutBatches) {
  BatchQueue<int64_t> queue(0, Same, {.num_workers = GetParam()});
  EXPECT_EQ(queue.Next(), std::nullopt);
}

INSTANTIATE_TEST_SUITE_P(Workers, BatchQueueWorkers, ::testing::Values(0, 1, 2, 8));

TEST(BatchQueue, InOrderOfCompletionASlowBatchDelaysNoOther) {
  std::latch release(1);
  BatchQueue<int64_t> queue(6,
                            [&](int64_t index, const std::stop_token&) {
                              if (index == 0) release.wait();
                              return index;
                            },
                            {.num_workers = 2, .queue_size = 4, .ordered = false});
  for (int64_t i = 1; i < 6; i++) EXPECT_EQ(queue.Next(), i);
  release.count_down();
  EXPECT_EQ(queue.Next(), 0);
  EXPECT_EQ(queue.Next(), std::nullopt);
}

TEST(BatchQueue, RunsAheadByExactlyItsSize) {
  Counter made;
  std::atomic<int64_t> taken{0}, furthest{0};
  BatchQueue<int64_t> queue(
      500,
      [&](int64_t index, const std::stop_token&) {
        int64_t before = furthest;
        const int64_t ahead = index - taken;
        while (ahead > before && !furthest.compare_exchange_weak(before, ahead)) {
        }
        made.Add();
        return index;
      },
      {.num_workers = 3, .queue_size = 5});
  for (int64_t i = 0; i < 500; i++) {
    ASSERT_TRUE(made.WaitFor(std::min<int64_t>(i + 5, 500)));
    EXPECT_EQ(queue.Next(), i);
    taken = i + 1;
  }
  // Batch i+5 may begin when batch i is delivered, just before `taken` counts it.
  EXPECT_GE(furthest, 4);
  EXPECT_LE(furthest, 5);
}

TEST(BatchQueue, AQueueSmallerThanItsWorkersStillBoundsThem) {
  std::atomic<int> running{0}, most{0};
  BatchQueue<int64_t> queue(100,
                            [&](int64_t index, const std::stop_token&) {
                              const int now = ++running;
                              int before = most;
                              while (now > before && !most.compare_exchange_weak(before, now)) {
                              }
                              std::this_thread::yield();
                              running--;
                              return index;
                            },
                            {.num_workers = 8, .queue_size = 2});
  while (queue.Next()) {
  }
  EXPECT_LE(most, 2);
}

TEST(BatchQueue, RequestsRunningBatchesToStop) {
  Counter begun, stopped;
  {
    BatchQueue<int64_t> queue(100,
                              [&](int64_t index, const std::stop_token& stop) {
                                begun.Add();
                                if (index > 0 && WaitForStop(stop)) stopped.Add();
                                return index;
                              },
                              {.num_workers = 3, .queue_size = 4});
    EXPECT_EQ(queue.Next(), 0);
    ASSERT_TRUE(begun.WaitFor(4));
  }
  EXPECT_EQ(begun.value(), 4);
  EXPECT_EQ(stopped.value(), 3);
}

TEST(BatchQueue, DropsUndeliveredBatches) {
  const auto alive = std::make_shared<int>(0);
  Counter made;
  {
    BatchQueue<std::shared_ptr<int>> queue(10,
                                           [&](int64_t, const std::stop_token&) {
                                             made.Add();
                                             return alive;
                                           },
                                           {.num_workers = 2, .queue_size = 6});
    ASSERT_TRUE(made.WaitFor(6));
  }
  EXPECT_EQ(alive.use_count(), 1);
}

TEST(BatchQueue, RejectsOptionsOutOfBounds) {
  for (const QueueOptions& options : std::vector<QueueOptions>{{.num_workers = -1},
                                                               {.num_workers = 1025},
                                                               {.queue_size = 0},
                                                               {.queue_size = int64_t{1} << 40}}) {
    EXPECT_THROW(BatchQueue<int64_t>(1, Same, options), Error);
  }
  EXPECT_THROW(BatchQueue<int64_t>(-1, Same, {}), Error);
}

TEST(BatchQueue, ReportsThatNoThreadCanBeStarted) {
  // Stacks that are larger than the address space make every thread fail.
  pthread_attr_t before, huge;
  ASSERT_EQ(pthread_getattr_default_np(&before), 0);
  ASSERT_EQ(pthread_attr_init(&huge), 0);
  ASSERT_EQ(pthread_attr_setstacksize(&huge, size_t{1} << 47), 0);
  ASSERT_EQ(pthread_setattr_default_np(&huge), 0);
  try {
    BatchQueue<int64_t> queue(10, Same, {.num_workers = 2, .queue_size = 4});
    ADD_FAILURE();
  } catch (const Error& error) {
    EXPECT_EQ(error.code(), ErrorCode::kOverloaded);
    EXPECT_THAT(error.what(), HasSubstr("worker thread 0 of 2"));
  }
  pthread_setattr_default_np(&before);
  pthread_attr_destroy(&huge);
  pthread_attr_destroy(&before);
}

}  // namespace
}  // namespace graphd
