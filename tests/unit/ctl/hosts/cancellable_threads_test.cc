// SPDX-License-Identifier: Apache-2.0
#include "ctl/hosts/cancellable_threads.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <pthread.h>

#include <new>

#include "graphd/error.h"

namespace graphd::ctl {
namespace {

// Prevents threads from being started while it exists: no address space has room for their stacks.
class NoMoreThreads {
 public:
  NoMoreThreads() {
    ::pthread_getattr_default_np(&before_);
    pthread_attr_t huge;
    ::pthread_attr_init(&huge);
    ::pthread_attr_setstacksize(&huge, size_t{1} << 47);
    works_ = ::pthread_setattr_default_np(&huge) == 0;
    ::pthread_attr_destroy(&huge);
  }
  ~NoMoreThreads() {
    ::pthread_setattr_default_np(&before_);
    ::pthread_attr_destroy(&before_);
  }
  bool works() const { return works_; }

 private:
  pthread_attr_t before_;
  bool works_ = false;
};

TEST(CancellableThreads, WaitReturnsWhenAllThreadsHaveEndedAndTicksAtTheEnd) {
  CancellableThreads threads;
  std::atomic<int> done{0};
  int seen = -1;
  for (int i = 0; i < 8; i++) threads.Start([&] { done++; });
  threads.Wait([&] { seen = done; });
  EXPECT_EQ(seen, 8);
  EXPECT_FALSE(threads.cancelled());
  EXPECT_EQ(threads.signal(), 0);
}

TEST(CancellableThreads, AFailedStartEndsTheOtherThreadsAndIsReported) {
  CancellableThreads threads;
  std::atomic<bool> ended{false};
  threads.Start([&] {
    while (!threads.cancelled()) std::this_thread::yield();
    ended = true;
  });
  const NoMoreThreads none;
  ASSERT_TRUE(none.works());
  try {
    threads.Start([] { ADD_FAILURE() << "it was started"; });
    threads.Wait({});
    FAIL() << "no error";
  } catch (const Error& error) {
    EXPECT_EQ(error.code(), ErrorCode::kOverloaded);
    EXPECT_THAT(error.what(), ::testing::HasSubstr("ulimit -u"));
  }
  EXPECT_TRUE(ended);
  threads.Wait({});
}

TEST(CancellableThreads, AnExceptionCancelsTheOtherThreadsAndIsThrownByWait) {
  CancellableThreads threads;
  threads.Start([&] {
    while (!threads.cancelled()) std::this_thread::yield();
  });
  threads.Start([] { throw std::bad_alloc(); });
  try {
    threads.Wait({});
    FAIL() << "no error";
  } catch (const Error& error) {
    EXPECT_EQ(error.code(), ErrorCode::kOverloaded);
    EXPECT_STREQ(error.what(), "not enough memory");
  }
  threads.Wait({});
}

}  // namespace
}  // namespace graphd::ctl
