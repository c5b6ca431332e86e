// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <kj/async.h>

#include <atomic>
#include <chrono>
#include <functional>
#include <string>
#include <vector>

#include "base/clock.h"
#include "base/log.h"
#include "daemon/serving/graph_switch.h"
#include "daemon/serving/service_context.h"
#include "wire/control_messages.h"
#include "wire/status.h"

namespace graphd {

// The daemon's description of itself; constant while it serves, unless a member says otherwise.
// `request_stop` may be called from any thread. Its argument is the number of seconds after which
// the daemon ends even if changed rows are not written back; negative: no limit.
struct DaemonInfo {
  std::string server_name;
  std::vector<std::string> listening;
  bool insecure = false, ends_with_jobs = false;
  Clock::time_point started = Clock::now();
  // The time after which a peer that has not read all of an answer is disconnected, because the
  // unread answer occupies memory. A reload may change it.
  std::atomic<std::chrono::seconds> write_timeout{std::chrono::seconds(600)};
  // A connection that has not attached is closed if it makes no further call within this time.
  double max_idle_seconds = 600;
  std::function<void(double seconds)> request_stop;
  // Sets the level of the log, and returns the previous one. Any thread may call it.
  std::function<LogLevel(LogLevel level)> set_log_level;
  // Reads the configuration again for an operator of this name. The promise belongs to the caller's
  // event loop. It returns the options that differed, or fails with the Error that a mistake
  // causes. May throw Error.
  std::function<kj::Promise<std::vector<ChangedOption>>(const std::string& by)> reload;
  // Begins to load another version of the graph. Any thread may call it. May throw Error.
  std::function<std::shared_ptr<GraphSwitch>(const SwitchRequest& request)> prepare_switch;
};

// Returns the memory of this process that is in RAM.
uint64_t ResidentBytes();

// Returns the status of a daemon. Any thread may call it.
ServerStatus StatusOf(const ServiceContext& context, const DaemonInfo& info);

}  // namespace graphd
