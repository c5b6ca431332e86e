// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <sys/types.h>

#include <string>

#include "base/file.h"

namespace graphd::ctl {

// A local process `graphctl VERB`, with our ends of its standard input, output and error. It has a
// session of its own, so that Ctrl-C in the terminal reaches only us.
struct Child {
  pid_t pid = 0;
  UniqueFd in, out, err;
};
Child StartChild(const std::string& graphctl, const std::string& verb);

// Waits for the process to end and returns its wait status.
int AwaitChild(pid_t pid);

}  // namespace graphd::ctl
