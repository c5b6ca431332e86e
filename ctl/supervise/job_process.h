// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <sys/types.h>

#include "base/file.h"

namespace graphd::ctl {

// A process of a job, whose number a daemon has told. The daemon may be another user's, and the
// number may be another process's by now, so that it is not enough to send a signal.
class JobProcess {
 public:
  // Opens the process with this number. `server_user` is the user of the daemon. Throws Error:
  // kNotFound if it has ended; kDenied if it belongs to a user other than this process's, or, for
  // root, to root while the daemon does not.
  JobProcess(pid_t pid, uid_t server_user);

  // Sends the signal to this process and to no later one with its number. Returns whether the
  // process was still there.
  bool Signal(int signal) const noexcept;

 private:
  UniqueFd fd_;
};

}  // namespace graphd::ctl
