// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <string>

#include "ctl/plan/host_order.h"
#include "ctl/supervise/run_guarded.h"

// Carries out an order about a server on its host, such as starting the server, reporting its
// status, stopping it, or stopping its jobs. Answers with frames on standard output
// (ctl/hosts/frame_reader.h), the last of which is "done" or "error".

namespace graphd::ctl {

// `input` is what was read of standard input after the order. Returns the exit code.
int CarryOutServerOrder(const HostOrder& order, const std::string& input, GuardState& guard);

}  // namespace graphd::ctl
