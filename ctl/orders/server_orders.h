// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <string>

#include "ctl/plan/host_order.h"
#include "ctl/supervise/run_guarded.h"

// Carries out the orders that are not jobs: starting a server, its status, stopping it, stopping
// its jobs. They run on the server's host and answer with frames on standard output
// (ctl/hosts/frame_reader.h); the last frame is "done" or "error".

namespace graphd::ctl {

// `input` is what was read of standard input after the order. Returns the exit code.
int CarryOutServerOrder(const HostOrder& order, const std::string& input, GuardState& guard);

}  // namespace graphd::ctl
