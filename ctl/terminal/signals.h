// SPDX-License-Identifier: Apache-2.0
#pragma once
#include "base/file.h"

namespace graphd::ctl {

// Blocks SIGINT, SIGTERM and SIGHUP in this thread and in all threads that it starts later, and
// returns a non-blocking signalfd for them. Signals that the parent process has us ignore (nohup, a
// shell's background jobs) stay ignored: they are left out, because a signalfd would read them
// nevertheless. Also ignores SIGPIPE.
UniqueFd WatchSignals();

}  // namespace graphd::ctl
