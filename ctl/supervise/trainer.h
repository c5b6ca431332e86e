// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <sys/types.h>

#include <string>
#include <utility>
#include <vector>

#include "base/file.h"
#include "ctl/plan/user_command.h"

// The start of a trainer in its own process group, with standard input from /dev/null and output
// into two pipes. The kernel kills the trainer (SIGKILL) if the process that started it dies.

namespace graphd::ctl {

struct StartedTrainer {
  pid_t pid = 0;      // also its process group
  UniqueFd out, err;  // non-blocking read ends
};

// Starts a trainer. Between fork and exec, the child calls no function that could wait for a lock
// of another thread of this process. If the command can't be run, the child reports that on its
// standard error and exits with 127 (not found) or 126, as shells do.
StartedTrainer StartTrainer(const UserCommand& command, const std::string& workspace,
                            const std::vector<std::pair<std::string, std::string>>& variables);

}  // namespace graphd::ctl
