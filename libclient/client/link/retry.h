// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <chrono>
#include <functional>

namespace graphd {

// Calls f. While it throws Error(kUnavailable), and until the timeout, calls `reconnect` and then f
// again.
void RetryWhileUnavailable(std::chrono::milliseconds timeout,
                           const std::function<void()>& reconnect, const std::function<void()>& f);

}  // namespace graphd
