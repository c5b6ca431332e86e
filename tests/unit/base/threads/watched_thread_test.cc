// SPDX-License-Identifier: Apache-2.0
#include "base/threads/watched_thread.h"

#include <gtest/gtest.h>
#include <pthread.h>

#include <optional>
#include <thread>
#include <utility>
#include <vector>

#include "base/threads/mutex.h"

namespace graphd {
namespace {

// Returns the state of the watched thread of this name; nothing if there is none.
std::optional<WatchedThread::State> StateOf(const std::string& name) {
  for (const WatchedThread::State& state : WatchedThread::All()) {
    if (state.name == name) return state;
  }
  return std::nullopt;
}

TEST(WatchedThread, IsKnownByItsNameWhileItLives) {
  EXPECT_FALSE(StateOf("a thread with a long name"));
  std::thread([] {
    const WatchedThread watched("a thread with a long name", std::chrono::seconds(7));
    char name[32];
    ASSERT_EQ(::pthread_getname_np(::pthread_self(), name, sizeof name), 0);
    EXPECT_STREQ(name, "a thread with a");
    const auto state = StateOf("a thread with a long name");
    ASSERT_TRUE(state);
    EXPECT_TRUE(state->works);
    EXPECT_EQ(state->longest, std::chrono::seconds(7));
  }).join();
  EXPECT_FALSE(StateOf("a thread with a long name"));
}

TEST(WatchedThread, HasTheLongestTimeOfAllUnlessItHasItsOwn) {
  std::thread([] {
    const WatchedThread watched("test");
    EXPECT_EQ(StateOf("test").value().longest, std::chrono::seconds(120));
    WatchedThread::SetLongest(std::chrono::seconds(3));
    EXPECT_EQ(StateOf("test").value().longest, std::chrono::seconds(3));
    WatchedThread::SetLongest(std::chrono::seconds(120));
  }).join();
}

TEST(WatchedThread, CountsItsOwnProgress) {
  std::thread([] {
    const WatchedThread watched("test");
    const uint64_t before = StateOf("test").value().progress;
    EXPECT_EQ(StateOf("test").value().progress, before);
    std::thread([] { WatchedThread::CountProgress(); }).join();  // it is another thread's
    EXPECT_EQ(StateOf("test").value().progress, before);
    WatchedThread::CountProgress();
    EXPECT_NE(StateOf("test").value().progress, before);
    const uint64_t after = StateOf("test").value().progress;
    ForPieces(10, [](size_t begin, size_t end) {
      EXPECT_EQ(begin, 0U);
      EXPECT_EQ(end, 10U);
    });
    EXPECT_NE(StateOf("test").value().progress, after);
  }).join();
}

TEST(WatchedThread, CountsTheProgressOfHelpersWhileItWaitsForThem) {
  std::thread([] {
    const WatchedThread watched("test");
    const WatchedThread::WithHelpers with_helpers;
    const uint64_t before = StateOf("test").value().progress;
    EXPECT_EQ(StateOf("test").value().progress, before);
    std::thread([] { WatchedThread::CountProgress(); }).join();
    EXPECT_NE(StateOf("test").value().progress, before);
    EXPECT_TRUE(StateOf("test").value().works);
  }).join();
}

TEST(WatchedThread, AnEventLoopWorksAlsoWhileItWaits) {
  std::thread([] {
    const WatchedThread watched("test", std::chrono::seconds(10));
    const WatchedThread::Waiting waiting;
    EXPECT_TRUE(StateOf("test").value().works);
  }).join();
}

TEST(ForRows, CountsProgressPerRangeOfFewEdges) {
  std::thread([] {
    const WatchedThread watched("test");
    // Many rows without an edge, and then a row that is larger than a range.
    std::vector<uint64_t> indptr(300'000, 0);
    for (const uint64_t degree : {600'000, 600'000, 5'000'000, 0, 1}) {
      indptr.push_back(indptr.back() + degree);
    }
    std::vector<std::pair<size_t, size_t>> ranges;
    uint64_t progress = StateOf("test").value().progress;
    ForRows(indptr, [&](size_t first, size_t last) {
      if (!ranges.empty()) {
        EXPECT_NE(StateOf("test").value().progress, progress);
      }
      progress = StateOf("test").value().progress;
      ranges.emplace_back(first, last);
    });
    EXPECT_EQ(ranges, (std::vector<std::pair<size_t, size_t>>{{0, 262'144},
                                                              {262'144, 300'000},
                                                              {300'000, 300'001},
                                                              {300'001, 300'002},
                                                              {300'002, 300'004}}));
  }).join();
  ForRows(std::vector<uint64_t>{0}, [](size_t, size_t) { FAIL(); });
}

TEST(WatchedThread, DoesNotWorkWhileItWaits) {
  Mutex mutex;
  CondVar changed;
  Mutex held(Mutex::kHeldLong);
  bool waits = false, go_on = false, done = false;
  const auto await = [&](const bool& condition) {
    const MutexLock lock(mutex);
    while (!condition) changed.Wait(mutex);
  };
  const auto set = [&](bool& condition) {
    const MutexLock lock(mutex);
    condition = true;
    changed.NotifyAll();
  };
  std::optional<MutexLock> holding(held);
  std::thread thread([&] {
    const WatchedThread watched("test");
    {
      const WatchedThread::Waiting waiting;
      set(waits);
      await(go_on);  // a wait within a wait
      EXPECT_FALSE(StateOf("test").value().works);
    }
    EXPECT_TRUE(StateOf("test").value().works);
    set(done);
    const MutexLock lock(held);
  });
  await(waits);
  EXPECT_FALSE(StateOf("test").value().works);
  set(go_on);
  await(done);
  while (StateOf("test").value().works) std::this_thread::yield();  // it waits for `held`
  holding.reset();
  thread.join();
}

}  // namespace
}  // namespace graphd
