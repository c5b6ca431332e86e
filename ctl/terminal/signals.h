// SPDX-License-Identifier: Apache-2.0
#pragma once
#include "base/file.h"

namespace graphd::ctl {

// A signalfd of what a user or a terminal sends (SIGINT, SIGTERM, SIGHUP), non-blocking; those are
// blocked from here on, in threads started later, too. What whoever started us has us ignore
// (nohup, a shell's background jobs) stays ignored: a signalfd would read it all the same. SIGPIPE
// is ignored from here on.
UniqueFd WatchSignals();

}  // namespace graphd::ctl
