// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <sys/types.h>

#include "base/file.h"

namespace graphd::ctl {

// A process of a job that a daemon has named by its process number. Sending a signal to the number
// would not be safe, because the daemon may belong to another user, and the process may have ended
// and another one may have its number.
class JobProcess {
 public:
  // Opens the process with this number. `server_user` is the user of the daemon. Throws Error:
  // kNotFound if the process has ended; kDenied if this process may not signal it, or if this
  // process and the target both run as root but the daemon does not.
  JobProcess(pid_t pid, uid_t server_user);

  // Sends the signal to this process, but never to a later process with the same number. Returns
  // whether the process was still there.
  bool Signal(int signal) const noexcept;

 private:
  UniqueFd fd_;
};

}  // namespace graphd::ctl
