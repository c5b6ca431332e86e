// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <string>

#include "ctl/plan/host_order.h"
#include "ctl/supervise/run_guarded.h"

namespace graphd::ctl {

// Runs a supervisor in a session of its own, with its own guard, so that it survives the end of the
// launcher and of the user's session. Until the supervisor detaches, it talks to the launcher over
// this process's standard streams, as other supervisors do, and the job ends if the launcher ends.
// Returns the exit code of this process when the supervisor has detached or ended. `guard` does not
// end the supervisor when this process ends. Must be called by a single-threaded process.
int RunDetached(HostOrder order, std::string unread_input, GuardState& guard);

}  // namespace graphd::ctl
