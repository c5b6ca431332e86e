// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <string>

#include "ctl/plan/host_order.h"

namespace graphd::ctl {

// Sends the records of a server's log on this host that order.logs asks for. They are merged by
// time. They come from the journal of the unit graphd@NAME, and from the log files of daemons that
// graphctl or somebody else has started: of the daemon with the port in the order or, if the port
// is 0, of all daemons with that server name. Each frame of the kind "log" has up to about 64 KiB
// of records. Each frame but the first is sent only after the graphctl that asks for the logs has
// sent a line {"t":"more"}, so that it never gets more than it wants. `input` is the part of
// standard input that was read together with the order. Returns the exit code.
int SendServerLogs(const HostOrder& order, std::string input);

}  // namespace graphd::ctl
