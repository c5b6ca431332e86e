// SPDX-License-Identifier: Apache-2.0
#pragma once
#include "ctl/plan/host_order.h"
#include "ctl/supervise/run_guarded.h"

// The orders that are no job: starting a server, its status, its end, the end of its jobs. They run
// on the server's host and answer with frames on standard output (hosts/frame_reader.h), always
// closing with "done" or "error".

namespace graphd::ctl {

// Returns the exit code.
int CarryOutServerOrder(const HostOrder& order, GuardState& guard);

}  // namespace graphd::ctl
