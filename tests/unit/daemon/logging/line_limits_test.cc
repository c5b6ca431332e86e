// SPDX-License-Identifier: Apache-2.0
#include "daemon/logging/line_limits.h"

#include <gtest/gtest.h>

#include <chrono>

#include "base/strings.h"

namespace graphd {
namespace {

using std::chrono::duration_cast;

Clock::duration Seconds(double seconds) {
  return duration_cast<Clock::duration>(std::chrono::duration<double>(seconds));
}

int AdmittedOf(LineLimits& limits, int lines, std::string_view op, Clock::time_point now) {
  int admitted = 0;
  for (int i = 0; i < lines; i++) admitted += limits.Admit(op, now) ? 1 : 0;
  return admitted;
}

TEST(LineLimitsTest, AnOperationHasABurstAndThenALineEachPause) {
  LineLimits limits;
  const Clock::time_point start = Clock::now();
  EXPECT_EQ(AdmittedOf(limits, 1000, "attach", start), LineLimits::kBurst);
  EXPECT_EQ(AdmittedOf(limits, 10, "attach", start + Seconds(LineLimits::kPause * 0.9)), 0);
  EXPECT_EQ(AdmittedOf(limits, 10, "attach", start + Seconds(LineLimits::kPause * 3.01)), 3);
  // After a long silence there is a burst again, and no more.
  EXPECT_EQ(AdmittedOf(limits, 1000, "attach", start + Seconds(1e6)), LineLimits::kBurst);
}

TEST(LineLimitsTest, OneOperationDoesNotHideAnotherNorTheDaemonsOwnLines) {
  LineLimits limits;
  const Clock::time_point now = Clock::now();
  AdmittedOf(limits, 100000, "connect", now);
  EXPECT_EQ(AdmittedOf(limits, 1000, "attach", now), LineLimits::kBurst);
  EXPECT_EQ(AdmittedOf(limits, 5000, "", now), LineLimits::kOwnBurst);
}

TEST(LineLimitsTest, LinesThatAreLeftOutAreCountedOnce) {
  LineLimits limits;
  const Clock::time_point now = Clock::now();
  EXPECT_TRUE(limits.TakeLeftOut().empty());
  AdmittedOf(limits, 100, "attach", now);
  AdmittedOf(limits, 61, "connect", now);
  AdmittedOf(limits, 5, "leave", now);
  const auto left_out = limits.TakeLeftOut();
  ASSERT_EQ(left_out.size(), 2u);
  EXPECT_EQ(left_out[0].op, "attach");
  EXPECT_EQ(left_out[0].lines, 40u);
  EXPECT_EQ(left_out[1].op, "connect");
  EXPECT_EQ(left_out[1].lines, 1u);
  EXPECT_TRUE(limits.TakeLeftOut().empty());
}

TEST(LineLimitsTest, ManyOperationsTakeBoundedMemoryAndShareALimit) {
  LineLimits limits;
  const Clock::time_point now = Clock::now();
  int admitted = 0;
  for (int i = 0; i < 100000; i++) admitted += limits.Admit(StrCat("op ", i), now) ? 1 : 0;
  EXPECT_EQ(admitted, static_cast<int>(LineLimits::kMaxOperations + LineLimits::kBurst));
  ASSERT_EQ(limits.TakeLeftOut().size(), 1u);
}

}  // namespace
}  // namespace graphd
