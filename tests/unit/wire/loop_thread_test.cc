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

}  // namespace
}  // namespace graphd
