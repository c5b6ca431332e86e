// SPDX-License-Identifier: Apache-2.0
#pragma once
#include "base/file.h"

namespace graphd::ctl {

// Blocks SIGINT, SIGTERM and SIGHUP in this thread and in all threads that it starts later, and
// returns a non-blocking signalfd for them. Leaves out signals that this process ignores because
// its parent has set that (nohup, or a shell for a background job). They stay ignored; a signalfd
// would receive them nevertheless. Also ignores SIGPIPE.
UniqueFd WatchSignals();

}  // namespace graphd::ctl
