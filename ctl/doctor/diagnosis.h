// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <optional>
#include <string>
#include <vector>

#include "ctl/doctor/host_facts.h"

namespace graphd::ctl {

// One thing that `graphctl doctor` has found.
struct Finding {
  enum class Severity { kFault, kWarning };  // a fault keeps the server or the job from working
  Severity severity = Severity::kFault;
  size_t host = 0;  // index of the host that has it
  std::string text;
  std::string remedy;
};

// A daemon of the plan, or a host that only computes, and the facts that the host has reported.
struct ExaminedHost {
  std::string name;  // for messages
  ServerSpec server;
  bool only_trainers = false;
  std::optional<HostFacts> facts;  // nothing: it has not answered
  std::string error;               // the reason why it has not answered
  double clock_ahead = 0;          // seconds by which its clock is ahead of this machine's
};

// Compares the facts that the hosts have reported with what the plan needs, and with one another.
// Findings are ordered by host. No side effects.
std::vector<Finding> Diagnose(const std::vector<ExaminedHost>& hosts);

}  // namespace graphd::ctl
