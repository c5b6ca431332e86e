// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <string>

#include "ctl/plan/host_order.h"
#include "ctl/supervise/run_guarded.h"

namespace graphd::ctl {

// Runs a supervisor in a session of its own, with a guard of its own, so that neither the end of
// the launcher nor that of the user's session ends it. Until the supervisor detaches, it uses this
// process's standard streams: it talks to the launcher as others do, and a launcher that goes ends
// the job. Returns when it has detached or ended, with the exit code of this process; `guard` then
// leaves it alone. Must be called by a single-threaded process.
int RunDetached(HostOrder order, std::string unread_input, GuardState& guard);

}  // namespace graphd::ctl
