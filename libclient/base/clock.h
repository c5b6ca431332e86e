// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <chrono>

namespace graphd {

using Clock = std::chrono::steady_clock;

inline double SecondsSince(Clock::time_point start) {
  return std::chrono::duration<double>(Clock::now() - start).count();
}

}  // namespace graphd
