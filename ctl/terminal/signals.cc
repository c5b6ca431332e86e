// SPDX-License-Identifier: Apache-2.0
#include "ctl/terminal/signals.h"

#include <signal.h>
#include <sys/signalfd.h>

namespace graphd::ctl {

UniqueFd WatchSignals() {
  sigset_t watched;
  ::sigemptyset(&watched);
  for (int number : {SIGINT, SIGTERM, SIGHUP}) {
    struct sigaction action {};
    ::sigaction(number, nullptr, &action);
    if (action.sa_handler != SIG_IGN) ::sigaddset(&watched, number);
  }
  ::pthread_sigmask(SIG_BLOCK, &watched, nullptr);
  ::signal(SIGPIPE, SIG_IGN);
  UniqueFd fd(::signalfd(-1, &watched, SFD_CLOEXEC | SFD_NONBLOCK));
  if (!fd) ThrowErrno("can't create", "a signalfd");
  return fd;
}

}  // namespace graphd::ctl
