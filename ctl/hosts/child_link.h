// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "ctl/hosts/host_link.h"

namespace graphd::ctl {

// A process of this machine whose standard input and output lead to a supervisor.
struct SupervisorCommand {
  std::vector<std::string> words = {};
  std::vector<std::string> without = {};  // variables of our environment that it does not get
  // Tells which lines of its standard error are of no use to the user; empty: none is.
  std::function<bool(std::string_view line)> is_useless = {};
  // The reason that is reported if it ends before the supervisor has said anything. If this is
  // empty, only its end by a signal is reported.
  std::string cannot_start = {};
  // The name of the program (such as srun) if this process only leads to a supervisor elsewhere,
  // which may take a while to start: until the supervisor runs, the end of the job is told to this
  // process by SIGTERM. Empty: this process is the supervisor.
  std::string relay = {};
};

// Starts the process. `queue` must outlive the link.
std::unique_ptr<HostLink> OpenChildLink(size_t host, SupervisorCommand command, EventQueue& queue);

}  // namespace graphd::ctl
