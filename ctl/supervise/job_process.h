// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <sys/types.h>

#include "base/file.h"

namespace graphd::ctl {

// A process of a job, whose number comes from a daemon. The daemon may belong to another user, and
// another process may have the number by now. Sending a signal to the number would not be safe.
class JobProcess {
 public:
  // Opens the process with this number. `server_user` is the user of the daemon. Throws Error:
  // kNotFound if the process has ended; kDenied if this process may not signal it, or if this
  // process and the target both run as root but the daemon does not.
  JobProcess(pid_t pid, uid_t server_user);

  // Sends the signal to this process and to no later one with its number. Returns whether the
  // process was still there.
  bool Signal(int signal) const noexcept;

 private:
  UniqueFd fd_;
};

}  // namespace graphd::ctl
