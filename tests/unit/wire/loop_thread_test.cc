// SPDX-License-Identifier: Apache-2.0
#include "wire/loop_thread.h"

#include <gtest/gtest.h>
#include <kj/async.h>
#include <kj/debug.h>
#include <unistd.h>

#include <atomic>
#include <new>

#include "graphd/error.h"
#include "tests/support/no_descriptors.h"

namespace graphd {
namespace {

TEST(LoopThread, AShortageOfDescriptorsIsAnErrorOfTheConstructor) {
  {
    const testing::NoDescriptors shortage;
    try {
      const LoopThread loop;
      ADD_FAILURE() << "no error";
    } catch (const Error& error) {
      EXPECT_EQ(error.code(), ErrorCode::kOverloaded) << error.what();
    }
  }
  bool ran = false;
  LoopThread loop;
  loop.RunAndWait([&] { ran = true; });
  EXPECT_TRUE(ran);
}

// An error handler that fails itself, as one does that finds no memory for its message.
struct FailingHandler final : kj::TaskSet::ErrorHandler {
  void taskFailed(kj::Exception&&) override {
    calls++;
    throw std::bad_alloc();
  }
  std::atomic<int> calls = 0;
};

TEST(LoopThread, GoesOnAfterAnExceptionThatNobodyHasCaught) {
  FailingHandler handler;
  kj::Own<kj::TaskSet> tasks;
  {
    LoopThread loop([&] { tasks = nullptr; });
    for (int i = 1; i <= 3; i++) {
      loop.RunAndWait([&] {
        if (tasks.get() == nullptr) tasks = kj::heap<kj::TaskSet>(handler);
        tasks->add(kj::evalLater([] { KJ_FAIL_ASSERT("a task fails"); }));
      });
      while (handler.calls < i) ::usleep(1000);
      bool ran = false;
      loop.RunAndWait([&] { ran = true; });
      EXPECT_TRUE(ran) << i;
    }
  }
  EXPECT_EQ(handler.calls, 3);
}

}  // namespace
}  // namespace graphd
