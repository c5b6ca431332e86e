// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <chrono>
#include <functional>

namespace graphd {

// Calls f. While f throws Error(kUnavailable), calls `reconnect` and then f again, until the
// timeout.
void RetryWhileUnavailable(std::chrono::milliseconds timeout,
                           const std::function<void()>& reconnect, const std::function<void()>& f);

}  // namespace graphd
