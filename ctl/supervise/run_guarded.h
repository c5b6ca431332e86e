// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <sys/types.h>

#include <functional>

// The process around the supervisor. RunGuarded forks: the child runs `supervisor`, the parent is
// the reaper of everything that the child ever starts. However the child ends, by kill -9 too, the
// parent kills what is left, except the daemon, and only then ends itself; it holds standard output
// open until then, so that its end tells the launcher that nothing remains. If the parent is
// killed, the child gets SIGTERM and ends the job itself. Its name is graphd-guard, so that `pkill
// graphctl` does not hit both. If both are killed at the same instant, the trainers die with them
// (PR_SET_PDEATHSIG), but not the processes that those have started.

namespace graphd::ctl {

// What the two share.
class GuardState {
 public:
  virtual ~GuardState() = default;
  // The daemon that the supervisor started, which outlives it. 0: none.
  virtual void set_daemon(pid_t pid) = 0;
};

// Returns the exit code for the whole. Must be called before any thread is started.
int RunGuarded(const std::function<int(GuardState&)>& supervisor);

}  // namespace graphd::ctl
