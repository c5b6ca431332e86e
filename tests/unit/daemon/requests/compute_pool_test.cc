// SPDX-License-Identifier: Apache-2.0
#include "daemon/requests/compute_pool.h"

#include <gtest/gtest.h>
#include <kj/async-io.h>

#include <atomic>
#include <chrono>
#include <future>
#include <new>
#include <stdexcept>
#include <thread>

#include "base/clock.h"
#include "base/recent_jobs.h"
#include "wire/connection.h"

namespace graphd {
namespace {

constexpr uint64_t kJob = 7;

class ComputePoolTest : public ::testing::Test {
 protected:
  // The context is behind a pointer because its destructor may throw, a test's may not.
  std::unique_ptr<kj::AsyncIoContext> io_ =
      std::make_unique<kj::AsyncIoContext>(kj::setupAsyncIo());
  ErrorCode CodeOf(kj::Promise<void> promise) {
    try {
      promise.wait(io_->waitScope);
    } catch (const kj::Exception& exception) {
      return FromKj(exception, "pool").code();
    }
    ADD_FAILURE() << "no error";
    return ErrorCode::kInternal;
  }
};

TEST_F(ComputePoolTest, RunsEverySliceOnce) {
  ComputePool pool("test", 3, 100);
  std::vector<std::atomic<int>> ran(1000);
  pool.Run(kJob, 1000, [&](size_t slice, WorkerScratch&) { ran[slice]++; }).wait(io_->waitScope);
  for (const auto& count : ran) EXPECT_EQ(count, 1);
  pool.Run(kJob, 0, [](size_t, WorkerScratch&) { FAIL(); }).wait(io_->waitScope);
}

TEST_F(ComputePoolTest, AnErrorOfASliceFailsTheRequest) {
  ComputePool pool("test", 2, 100);
  EXPECT_EQ(CodeOf(pool.Run(kJob, 10,
                            [](size_t slice, WorkerScratch&) {
                              if (slice == 5) throw Error(ErrorCode::kNotFound, "five");
                            })),
            ErrorCode::kNotFound);
}

TEST_F(ComputePoolTest, WhateverASliceThrowsFailsItsRequestAlone) {
  ComputePool pool("test", 1, 100);
  EXPECT_EQ(CodeOf(pool.Run(kJob, 1, [](size_t, WorkerScratch&) { throw std::bad_alloc(); })),
            ErrorCode::kOverloaded);
  EXPECT_EQ(
      CodeOf(pool.Run(kJob, 1, [](size_t, WorkerScratch&) { throw std::logic_error("bug"); })),
      ErrorCode::kInternal);
  EXPECT_EQ(CodeOf(pool.Run(kJob, 1, [](size_t, WorkerScratch&) { throw 7; })),
            ErrorCode::kInternal);
  EXPECT_EQ(CodeOf(pool.Run(kJob, 1,
                            [](size_t, WorkerScratch&) {
                              kj::throwFatalException(ToKj(Error(ErrorCode::kDenied, "no")));
                            })),
            ErrorCode::kDenied);
  bool ran = false;
  pool.Run(kJob, 1, [&](size_t, WorkerScratch&) { ran = true; }).wait(io_->waitScope);
  EXPECT_TRUE(ran);
}

TEST_F(ComputePoolTest, AJobLeavesAThreadToTheOthers) {
  constexpr uint64_t kOther = 8;
  std::promise<void> go;
  auto gate = go.get_future().share();
  std::atomic<int> running{0}, ran{0};
  ComputePool pool("test", 2, 100);
  const auto start = Clock::now();
  pool.Run(kOther, 1, [](size_t, WorkerScratch&) {}).wait(io_->waitScope);
  auto greedy = pool.Run(kJob, 10, [&](size_t, WorkerScratch&) {
    running++;
    gate.wait();
    ran++;
  });
  while (running == 0) std::this_thread::yield();
  std::this_thread::sleep_for(std::chrono::milliseconds(50));  // the other thread might begin, too
  const bool left_one = running == 1;
  // On a busy machine, the other job may have been forgotten meanwhile.
  if (SecondsSince(start) < RecentJobs::kSeconds) {
    EXPECT_TRUE(left_one);
  }
  // Then the job gets the last thread, too.
  while (running < 2) std::this_thread::yield();
  EXPECT_GE(SecondsSince(start), RecentJobs::kSeconds);
  go.set_value();
  greedy.wait(io_->waitScope);
  EXPECT_EQ(ran, 10);
}

TEST_F(ComputePoolTest, ASmallRequestOvertakesALargeOne) {
  ComputePool pool("test", 1, 100);
  std::promise<void> go;
  auto gate = go.get_future().share();
  std::atomic<int> large{0};
  auto first = pool.Run(kJob, 1000, [&](size_t, WorkerScratch&) {
    gate.wait();
    large++;
  });
  int seen = -1;
  auto second = pool.Run(kJob, 1, [&](size_t, WorkerScratch&) { seen = large; });
  go.set_value();
  second.wait(io_->waitScope);
  EXPECT_LE(seen, 3);
  first.wait(io_->waitScope);
  EXPECT_EQ(large, 1000);
}

TEST_F(ComputePoolTest, AJobWithManyRequestsGetsNoMoreThanAnother) {
  ComputePool pool("test", 1, 1000);
  std::promise<void> go;
  auto gate = go.get_future().share();
  std::atomic<int> greedy{0};
  std::vector<kj::Promise<void>> requests;
  for (int i = 0; i < 100; i++) {
    requests.push_back(pool.Run(kJob, 10, [&](size_t, WorkerScratch&) {
      gate.wait();
      std::this_thread::sleep_for(std::chrono::milliseconds(1));
      greedy++;
    }));
  }
  int seen = -1;
  auto modest = pool.Run(kJob + 1, 20, [&](size_t, WorkerScratch&) {
    std::this_thread::sleep_for(std::chrono::milliseconds(1));
    seen = greedy;
  });
  go.set_value();
  modest.wait(io_->waitScope);
  EXPECT_LE(seen, 200);  // about 20 of 1000: the two jobs take turns
  for (auto& request : requests) request.wait(io_->waitScope);
}

TEST_F(ComputePoolTest, RefusesRequestsBeyondItsQueue) {
  ComputePool pool("test", 1, 2);
  std::promise<void> go;
  auto gate = go.get_future().share();
  std::promise<void> busy;
  auto running = pool.Run(kJob, 1, [&](size_t, WorkerScratch&) {
    busy.set_value();
    gate.wait();
  });
  busy.get_future().wait();
  const auto nothing = [](size_t, WorkerScratch&) {};
  auto a = pool.Run(kJob, 1, nothing), b = pool.Run(kJob, 1, nothing);
  try {
    pool.Run(kJob, 1, nothing);
    ADD_FAILURE();
  } catch (const Error& error) {
    EXPECT_EQ(error.code(), ErrorCode::kOverloaded);
  }
  auto other = pool.Run(kJob + 1, 1, nothing);
  go.set_value();
  running.wait(io_->waitScope);
  other.wait(io_->waitScope);
}

TEST_F(ComputePoolTest, StopFailsWaitingRequestsAndADroppedPromiseIsHarmless) {
  ComputePool pool("test", 1, 100);
  std::promise<void> go, busy;
  auto gate = go.get_future().share();
  {
    auto dropped = pool.Run(kJob, 1, [&](size_t, WorkerScratch&) {
      busy.set_value();
      gate.wait();
    });
  }
  busy.get_future().wait();
  auto waiting = pool.Run(kJob, 1, [](size_t, WorkerScratch&) {});
  std::thread stopper([&] { pool.Stop(); });
  EXPECT_EQ(CodeOf(kj::mv(waiting)), ErrorCode::kUnavailable);
  go.set_value();
  stopper.join();
  EXPECT_THROW(pool.Run(kJob, 1, [](size_t, WorkerScratch&) {}), Error);
}

}  // namespace
}  // namespace graphd
