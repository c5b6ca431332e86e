// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <sys/types.h>

#include <string>
#include <utility>
#include <vector>

#include "base/file.h"
#include "ctl/plan/user_command.h"

// Starting one trainer: its own process group, standard input from /dev/null, output into two
// pipes, and a SIGKILL from the kernel if the process that started it dies.

namespace graphd::ctl {

struct StartedTrainer {
  pid_t pid = 0;      // also its process group
  UniqueFd out, err;  // non-blocking read ends
};

// Must be called by a single-threaded process. A command that can't be run makes the child say so
// on its standard error and exit with 127 (not found) or 126, as shells do.
StartedTrainer StartTrainer(const UserCommand& command, const std::string& workspace,
                            const std::vector<std::pair<std::string, std::string>>& variables);

}  // namespace graphd::ctl
