// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <sys/types.h>

#include <string>
#include <vector>

// What a process has started, by the parents that /proc shows. With PR_SET_CHILD_SUBREAPER nothing
// that a trainer starts can leave this tree: not by a new session, not by its parent's death.

namespace graphd::ctl {

// Every living process below `root` (not itself, no zombies), except `spared` and what it started.
std::vector<pid_t> Descendants(pid_t root, pid_t spared);

// SIGKILLs every descendant until none is left alive or `max_seconds` are over; once if they are 0.
// Reaps none. Returns how many were killed.
int KillDescendants(pid_t spared, double max_seconds);

}  // namespace graphd::ctl
