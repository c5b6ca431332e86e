// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <sys/types.h>

#include <string>
#include <vector>

#include "base/file.h"

namespace graphd::ctl {

// A local process that we have started, with our ends of the pipes to its standard input, output
// and error. It has a session of its own, so that Ctrl-C in the terminal reaches only us.
struct Child {
  pid_t pid = 0;
  UniqueFd in, out, err;
};
// Starts a program, which is looked for in PATH if its name has no '/', with the words as its
// arguments. It gets our environment except the variables `without`.
Child StartChild(std::vector<std::string> words, const std::vector<std::string>& without = {});

// Waits at most `seconds` for the process to end. Returns whether it has ended. Does not reap the
// process: AwaitChild must be called later.
bool EndsWithin(pid_t pid, double seconds);

// Ends the process: by SIGTERM, and by SIGKILL if it still runs two seconds later. Returns its wait
// status.
int EndChild(pid_t pid);

// Waits at most `seconds` for the process to end by itself, and then kills it. Two seconds later,
// leaves it if it still exists: a process that waits for a disk that hangs can't be killed.
void LetEnd(pid_t pid, double seconds);

// Waits for the process to end and returns its wait status.
int AwaitChild(pid_t pid);

}  // namespace graphd::ctl
