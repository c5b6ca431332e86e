// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <sys/types.h>

// The tree of all processes that a process has started. It is found through /proc, which has the
// parent of every process. With PR_SET_CHILD_SUBREAPER, no process that a trainer starts can leave
// this tree, neither through a new session nor through its parent's death.

namespace graphd::ctl {

// Sends SIGKILL to every descendant of this process, except `spared` and its descendants,
// repeatedly until none is alive or `max_seconds` have passed, or once if `max_seconds` is 0. Does
// not reap the processes. Returns the number of killed processes.
int KillDescendants(pid_t spared, double max_seconds);

}  // namespace graphd::ctl
