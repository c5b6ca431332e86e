// SPDX-License-Identifier: Apache-2.0
#include "wire/loop_thread.h"

#include <gtest/gtest.h>

#include "graphd/error.h"
#include "tests/support/no_descriptors.h"

namespace graphd {
namespace {

TEST(LoopThread, AShortageOfDescriptorsIsAnErrorOfTheConstructor) {
  {
    const testing::NoDescriptors shortage;
    EXPECT_THROW(LoopThread(), Error);
  }
  bool ran = false;
  LoopThread loop;
  loop.RunAndWait([&] { ran = true; });
  EXPECT_TRUE(ran);
}

}  // namespace
}  // namespace graphd
