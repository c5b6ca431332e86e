// SPDX-License-Identifier: Apache-2.0
#include "ctl/supervise/job_requests.h"

#include <utility>

#include "base/log.h"

namespace graphd::ctl {

template <class Take>
auto JobRequests::TakeOrWarn(const char* what, Take take) -> decltype(take()) {
  try {
    return take();
  } catch (const Error& error) {
    if (std::exchange(trouble_, error.what()) != error.what()) {
      LogWarning("job ", job_, ": can't take a request to ", what, ": ", error.what());
    }
    return std::nullopt;
  }
}

std::optional<double> JobRequests::TakeStop() {
  return TakeOrWarn("stop", [this] { return directory_.TakeStopRequest(); });
}

std::optional<RestartRequest> JobRequests::TakeRestart() {
  return TakeOrWarn("restart", [this] { return directory_.TakeRestartRequest(); });
}

}  // namespace graphd::ctl
