// SPDX-License-Identifier: Apache-2.0
#include "ctl/supervise/detach.h"

#include <fcntl.h>
#include <pwd.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <utility>

#include "base/strings.h"
#include "ctl/hosts/frame_reader.h"
#include "ctl/supervise/supervisor.h"

namespace graphd::ctl {
namespace {

// Warns the user if systemd-logind will clean up after the user has logged out. It then removes the
// user's runtime directory, with the sockets of servers there, and the user's files in /dev/shm.
void WarnOfLogout() {
  if (::geteuid() == 0 || !FileExists(StrCat("/run/systemd/users/", ::geteuid()))) return;
  const passwd* const user = ::getpwuid(::geteuid());
  const std::string name = user ? user->pw_name : StrCat(::geteuid());
  if (FileExists("/var/lib/systemd/linger/" + name)) return;
  const std::string frame = EncodeFrame(
      {{"t", "notice"},
       {"text",
        StrCat("when ", name,
               " has logged out of this host, systemd-logind removes the "
               "user's runtime directory and shared memory, and may end processes; so that "
               "the job survives that, run `loginctl enable-linger ",
               name, "` there, or use servers that systemd has started (graphd@.service)")}});
  WriteExactly(STDOUT_FILENO, std::as_bytes(std::span(frame)), "standard output");
}

}  // namespace

int RunDetached(HostOrder order, std::string unread_input, GuardState& guard) {
  WarnOfLogout();
  int ends[2];
  if (::pipe2(ends, O_CLOEXEC) != 0) ThrowErrno("can't create", "a pipe");
  UniqueFd detached(ends[0]), detaching(ends[1]);
  const pid_t pid = ::fork();
  if (pid < 0) ThrowErrno("can't start", "the supervisor");
  if (pid == 0) {
    detached.reset();
    ::setsid();
    [[maybe_unused]] const int moved = ::chdir("/");
    const int code = RunGuarded(
        [&](GuardState& own_guard) {
          return Supervisor(std::move(order), std::move(unread_input), own_guard,
                            std::move(detaching))
              .Run();
        },
        GuardFiles::kLetGo);
    ::_exit(code);
  }
  guard.set_daemon(pid);
  detaching.reset();
  // Only the supervisor reads what the launcher sends from here on, and not this process.
  const UniqueFd nothing = OpenFile("/dev/null", O_RDONLY);
  ::dup2(nothing.get(), STDIN_FILENO);
  char byte;
  while (::read(detached.get(), &byte, 1) < 0 && errno == EINTR) {
  }
  return 0;
}

}  // namespace graphd::ctl
