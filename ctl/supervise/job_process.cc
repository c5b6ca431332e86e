// SPDX-License-Identifier: Apache-2.0
#include "ctl/supervise/job_process.h"

#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <cerrno>

#include "base/strings.h"
#include "graphd/error.h"

namespace graphd::ctl {

JobProcess::JobProcess(pid_t pid, uid_t server_user)
    : fd_(static_cast<int>(::syscall(SYS_pidfd_open, pid, 0))) {
  struct stat info {};
  const bool found = fd_ && ::stat(StrCat("/proc/", pid).c_str(), &info) == 0;
  // If the process that fd_ refers to still exists, no other process can have had its number since
  // it was opened, so that `info` is about this process.
  if (!found || !Signal(0)) {
    if (fd_ && errno == EPERM) {
      Throw(ErrorCode::kDenied, "process ", pid, " belongs to user ", info.st_uid,
            "; run graphctl as that user, or as root");
    }
    Throw(ErrorCode::kNotFound, "process ", pid, " has ended");
  }
  if (::geteuid() == 0 && info.st_uid == 0 && server_user != 0) {
    Throw(ErrorCode::kDenied, "the server, which belongs to user ", server_user,
          ", names the process ", pid, " of root; end it by hand if it is a trainer");
  }
}

bool JobProcess::Signal(int signal) const noexcept {
  return ::syscall(SYS_pidfd_send_signal, fd_.get(), signal, nullptr, 0) == 0;
}

}  // namespace graphd::ctl
