// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <cstdint>
#include <string>

// The request of an operator to a daemon that runs; part of a HostOrder.

namespace graphd::ctl {

enum class ControlVerb { kDrain, kUndrain, kEndJob, kLogLevel, kReload, kRequests, kMemory };

struct ControlOrder {
  ControlVerb verb = ControlVerb::kReload;
  std::string by;       // the operator, as alice@host-1
  std::string reason;   // for kDrain and kEndJob; may be empty
  std::string job;      // for kEndJob
  std::string level;    // for kLogLevel
  uint32_t most = 100;  // for kRequests and kMemory: how many to return
};

}  // namespace graphd::ctl
