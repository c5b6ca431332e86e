// SPDX-License-Identifier: Apache-2.0
#include "client/link/retry.h"

#include <algorithm>

#include "base/clock.h"
#include "base/interruptions.h"
#include "graphd/error.h"

namespace graphd {

void RetryWhileUnavailable(std::chrono::milliseconds timeout,
                           const std::function<void()>& reconnect, const std::function<void()>& f) {
  const auto start = Clock::now();
  auto pause = std::chrono::milliseconds(2);
  for (;;) {
    try {
      return f();
    } catch (const Error& error) {
      if (error.code() != ErrorCode::kUnavailable || Clock::now() - start > timeout) throw;
    }
    // Pauses, because `reconnect` may return at once: the link may not know yet that it is broken,
    // or the daemon may answer, but have to wait for other processes.
    AwaitTime(pause);
    pause = std::min(pause * 2, std::chrono::milliseconds(100));
    reconnect();
  }
}

}  // namespace graphd
