// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "ctl/hosts/host_link.h"

namespace graphd::ctl {

// The command line of a process on this machine by whose standard input and output a supervisor is
// reached: the supervisor itself, or a program such as srun.
struct SupervisorCommand {
  std::vector<std::string> words = {};
  std::vector<std::string> without = {};  // variables of our environment that it does not get
  // Returns whether a line of its standard error is of no use to the user, so that it is not shown.
  // Empty: all lines are shown.
  std::function<bool(std::string_view line)> is_useless = {};
  // The reason that is reported if the process ends before the supervisor has sent a frame. If this
  // is empty, an end by a signal is reported and, if there is a `relay`, an exit code other than 0.
  std::string cannot_start = {};
  // The name of the program (such as srun) if this process only passes data to and from a
  // supervisor elsewhere. That supervisor may take a while to start. If the job ends before it has
  // answered, this process gets SIGTERM. Empty: this process is the supervisor.
  std::string relay = {};
};

// Starts the process. `queue` must outlive the link.
std::unique_ptr<HostLink> OpenChildLink(size_t host, SupervisorCommand command, EventQueue& queue);

}  // namespace graphd::ctl
