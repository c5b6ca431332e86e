// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <cstdint>
#include <string>

// The request of an operator to a running daemon, which is sent as a part of a HostOrder.

namespace graphd::ctl {

enum class ControlVerb {
  kDrain,
  kUndrain,
  kEndJob,
  kLogLevel,
  kReload,
  kRequests,
  kMemory,
  kSwitch
};

struct ControlOrder {
  ControlVerb verb = ControlVerb::kReload;
  std::string by;                // the operator, as alice@host-1
  std::string reason;            // for kDrain and kEndJob; may be empty
  std::string job;               // for kEndJob
  std::string level;             // for kLogLevel
  uint32_t most = 100;           // for kRequests and kMemory: how many to return
  std::string part_config = {};  // for kSwitch; empty: the part config in the configuration
  std::string version = {};      // for kSwitch: the id of the version
  double wait = 0;               // for kDrain: seconds to wait until no job is attached
};

// The lines by which graphctl ends a switch to another graph (kSwitch). It sends kCommitLine if all
// daemons have prepared the switch, and kAbortLine if one of them could not.
inline constexpr const char* kCommitLine = "commit";
inline constexpr const char* kAbortLine = "abort";

}  // namespace graphd::ctl
