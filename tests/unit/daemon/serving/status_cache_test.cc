// SPDX-License-Identifier: Apache-2.0
#include "daemon/serving/status_cache.h"

#include <gtest/gtest.h>

namespace graphd {
namespace {

TEST(StatusCache, OneStatusIsForAllWhoHaveAskedBeforeItWasBegun) {
  StatusCache cache;
  int made = 0;
  const auto make = [&made] {
    ServerStatus status;
    status.pid = ++made;
    return status;
  };
  const Clock::time_point first = Clock::now(), second = Clock::now();
  const StatusCache::StatusPtr status = cache.MadeAfter(first, make);
  EXPECT_EQ(status->pid, 1);
  EXPECT_EQ(cache.MadeAfter(second, make), status);
  // A later request gets a new status; so does any request once nobody uses the last one.
  EXPECT_EQ(cache.MadeAfter(Clock::now(), make)->pid, 2);
  EXPECT_EQ(cache.MadeAfter(first, make)->pid, 3);
  EXPECT_EQ(made, 3);
}

}  // namespace
}  // namespace graphd
