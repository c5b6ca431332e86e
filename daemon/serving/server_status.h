// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <chrono>
#include <functional>
#include <string>
#include <vector>

#include "base/clock.h"
#include "daemon/serving/service_context.h"
#include "wire/status.h"

namespace graphd {

// The daemon's description of itself; constant while it serves. `request_stop` may be called from
// any thread; it gets the seconds after which the daemon ends even if changed rows are not written
// back, or a negative number.
struct DaemonInfo {
  std::string server_name, part_config;
  std::vector<std::string> listening;
  bool insecure = false, ends_with_jobs = false;
  Clock::time_point started = Clock::now();
  // A peer that does not read all of an answer in this time keeps memory for nothing.
  std::chrono::seconds write_timeout{600};
  std::function<void(double seconds)> request_stop;
};

// Returns the status of a daemon. Any thread may call it.
ServerStatus StatusOf(const ServiceContext& context, const DaemonInfo& info);

}  // namespace graphd
