// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <cstdint>
#include <string>
#include <vector>

#include "wire/control.capnp.h"

// The values that operators get from a daemon (wire/control.capnp). They are plain values.

namespace graphd {

// An option whose value in the configuration differs from the value with which the daemon runs.
struct ChangedOption {
  std::string key;             // such as "peer_memory"
  std::string before, after;   // the value in use, and that of the configuration
  bool needs_restart = false;  // false: the new value is in use
  std::string place;           // FILE:LINE that sets it; empty if nothing does
};

// A request that a daemon has not answered yet.
struct RequestStatus {
  std::string operation;  // such as "hop"
  std::string state;      // such as "waits for a thread of the daemon"
  double seconds = 0;     // since it arrived
  std::string job_id;
  int rank = 0;      // the trainer's; -1: the job's launcher
  int64_t pid = 0;   // 0 for TCP connections
  std::string peer;  // "unix" or the address
};
// Some of a daemon's requests, the oldest first, and the number of all.
struct OldestRequests {
  std::vector<RequestStatus> requests;
  uint64_t total = 0;
};

// The progress of a daemon that loads another version of its graph.
struct SwitchProgress {
  bool ready = false;
  uint64_t done = 0, total = 0;  // bytes
};
// The version of the graph that a daemon has switched to.
struct Switched {
  std::string part_config, fingerprint;
  uint32_t jobs = 0;  // the number of jobs that keep earlier versions
};

// Convert a list of requests to and from a message.
void WriteRequests(const std::vector<RequestStatus>& requests,
                   capnp::List<wire::RequestStatus>::Builder out);
std::vector<RequestStatus> ReadRequests(capnp::List<wire::RequestStatus>::Reader in);

// Convert a list of changed options to and from a message.
void WriteChanges(const std::vector<ChangedOption>& changes,
                  capnp::List<wire::ChangedOption>::Builder out);
std::vector<ChangedOption> ReadChanges(capnp::List<wire::ChangedOption>::Reader in);

}  // namespace graphd
