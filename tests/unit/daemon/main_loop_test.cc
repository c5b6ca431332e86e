// SPDX-License-Identifier: Apache-2.0
#include "daemon/main_loop.h"

#include <gtest/gtest.h>
#include <signal.h>

#include <chrono>
#include <stdexcept>

namespace graphd {
namespace {

using std::chrono::milliseconds;

TEST(MainLoop, GoesOnAfterExceptionsOfCallbacks) {
  int timers = 0, signals = 0, wakes = 0, repeated = 0;
  const auto fail = [](int& calls) {
    calls++;
    throw std::runtime_error("no memory");
  };
  MainLoop loop;
  loop.OnTimer(milliseconds(1), milliseconds(1), [&] { fail(timers); });
  loop.OnSignal(SIGUSR1, [&] { fail(signals); });
  const auto wake = loop.OnWake([&] { fail(wakes); });
  const auto repeating = loop.Repeat(milliseconds(1), [&] { fail(repeated); });
  for (int round = 1; round <= 3; round++) {
    wake();
    ::raise(SIGUSR1);
    for (int i = 0; i < 2000 && (signals < round || wakes < round); i++) {
      loop.Wait(loop.timer().afterDelay(5 * kj::MILLISECONDS));
    }
  }
  EXPECT_EQ(signals, 3);
  EXPECT_EQ(wakes, 3);
  EXPECT_GT(timers, 1);
  EXPECT_GT(repeated, 1);
}

}  // namespace
}  // namespace graphd
