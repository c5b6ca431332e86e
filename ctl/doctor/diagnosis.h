// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <optional>
#include <string>
#include <vector>

#include "ctl/doctor/host_facts.h"

namespace graphd::ctl {

// A fact that `graphctl doctor` has found.
struct Finding {
  enum class Severity { kFault, kWarning };  // a fault keeps the server or the job from working
  Severity severity = Severity::kFault;
  size_t host = 0;  // index of the host that has it
  std::string text;
  std::string remedy;
};

// A daemon that will be started, or a host that runs trainers only, with the facts that its host
// has reported.
struct ExaminedHost {
  std::string name;  // for messages
  ServerSpec server;
  bool only_trainers = false;
  std::optional<HostFacts> facts;  // unset: the host has not answered
  std::string error;               // the reason why the host has not answered
  double clock_ahead = 0;          // seconds by which the host's clock is ahead of this machine's
};

// Compares the facts that the hosts have reported with the needs of their daemons and trainers, and
// with one another. Returns the findings, ordered by host. No side effects.
std::vector<Finding> Diagnose(const std::vector<ExaminedHost>& hosts);

}  // namespace graphd::ctl
