// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <sys/types.h>

#include <functional>

// The guard process around the supervisor. RunGuarded forks: the child runs `supervisor`, and the
// parent reaps all processes that the child ever starts. Whenever the child ends, even by kill -9,
// the parent kills all remaining processes except the daemon before it ends itself. It keeps
// standard output open until then, so that its end tells the launcher that no process remains. If
// the parent is killed, the child receives SIGTERM and ends the job itself. The parent's name is
// graphd-guard, so that `pkill graphctl` does not kill both. If both are killed at the same
// instant, the trainers die with them (PR_SET_PDEATHSIG), but processes started by trainers do not.

namespace graphd::ctl {

// The state that guard and supervisor share.
class GuardState {
 public:
  virtual ~GuardState() = default;
  // Sets the daemon that the supervisor has started. It outlives the supervisor, so the guard does
  // not kill it. 0: no daemon.
  virtual void set_daemon(pid_t pid) = 0;
  // Returns whether the guard process still lives.
  virtual bool guard_lives() const = 0;
};

// Says whether the guard keeps its standard streams and other descriptors open. For a job that
// outlives its launcher, the guard closes its own (kLetGo), so that the supervisor alone decides
// how long they stay open.
enum class GuardFiles { kKeep, kLetGo };

// Runs the supervisor under a guard, and returns the exit code of the process. Must be called
// before any thread is started.
int RunGuarded(const std::function<int(GuardState&)>& supervisor,
               GuardFiles files = GuardFiles::kKeep);

}  // namespace graphd::ctl
