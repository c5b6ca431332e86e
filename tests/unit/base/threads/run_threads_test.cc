// SPDX-License-Identifier: Apache-2.0
#include "base/threads/run_threads.h"

#include <gtest/gtest.h>
#include <pthread.h>

#include <atomic>
#include <stdexcept>
#include <thread>
#include <vector>

namespace graphd {
namespace {

TEST(RunThreads, EachIndexRunsOnceAndTheFirstOnTheCallingThread) {
  std::atomic<int> calls[5]{};
  std::thread::id first;
  RunThreads(5, [&](size_t i) {
    calls[i]++;
    if (i == 0) first = std::this_thread::get_id();
  });
  for (const auto& count : calls) EXPECT_EQ(count, 1);
  EXPECT_EQ(first, std::this_thread::get_id());
}

TEST(RunThreads, AnExceptionIsRethrownWhenAllHaveReturned) {
  std::atomic<int> ended{0};
  EXPECT_THROW(RunThreads(4,
                          [&](size_t i) {
                            ended++;
                            if (i == 2) throw std::runtime_error("two");
                          }),
               std::runtime_error);
  EXPECT_EQ(ended, 4);
}

TEST(RunThreads, WithoutMoreThreadsTheCallerMakesAllCallsAndTheFirstOneLast) {
  pthread_attr_t before, larger;
  ASSERT_EQ(::pthread_getattr_default_np(&before), 0);
  ASSERT_EQ(::pthread_getattr_default_np(&larger), 0);
  // No address space has room for the stack of such a thread.
  ASSERT_EQ(::pthread_attr_setstacksize(&larger, size_t{1} << 50), 0);
  ASSERT_EQ(::pthread_setattr_default_np(&larger), 0);
  std::vector<size_t> calls;
  RunThreads(3, [&](size_t i) { calls.push_back(i); });
  ASSERT_EQ(::pthread_setattr_default_np(&before), 0);
  EXPECT_EQ(calls, (std::vector<size_t>{1, 2, 0}));
}

TEST(RunThreads, UsefulThreadsAreOneToEight) {
  EXPECT_GE(UsefulThreads(), 1u);
  EXPECT_LE(UsefulThreads(), 8u);
}

}  // namespace
}  // namespace graphd
