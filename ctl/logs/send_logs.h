// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <string>

#include "ctl/plan/host_order.h"

namespace graphd::ctl {

// Sends what this host has of a server's log, as order.logs says: merged by time from the journal
// of its unit graphd@NAME, and from the files of daemons that graphctl or somebody else has
// started. With port 0, from the files of all daemons of that name. Frames of the kind "log" have
// up to about 64 KiB of records; each but the first is sent after a line {"t":"more"}, so that
// whoever asks takes no more than it wants. `input` is what was read of standard input with the
// order. Returns the exit code.
int SendServerLogs(const HostOrder& order, std::string input);

}  // namespace graphd::ctl
