// SPDX-License-Identifier: Apache-2.0
#include "ctl/hosts/child.h"

#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <spawn.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cmath>
#include <string_view>

#include "base/clock.h"

namespace graphd::ctl {
namespace {

constexpr double kEndSeconds = 2;

struct Pipe {
  UniqueFd read, write;
};

Pipe MakePipe() {
  int ends[2];
  if (::pipe2(ends, O_CLOEXEC) != 0) ThrowErrno("can't create", "a pipe");
  return {UniqueFd(ends[0]), UniqueFd(ends[1])};
}

// Returns our environment except the variables with these names.
std::vector<char*> EnvironmentWithout(const std::vector<std::string>& names) {
  std::vector<char*> entries;
  for (char** entry = environ; *entry; entry++) {
    const std::string_view text = *entry;
    if (std::ranges::find(names, text.substr(0, text.find('='))) == names.end()) {
      entries.push_back(*entry);
    }
  }
  entries.push_back(nullptr);
  return entries;
}

}  // namespace

Child StartChild(std::vector<std::string> words, const std::vector<std::string>& without) {
  Pipe in = MakePipe(), out = MakePipe(), err = MakePipe();
  posix_spawn_file_actions_t actions;
  posix_spawnattr_t attributes;
  ::posix_spawn_file_actions_init(&actions);
  ::posix_spawnattr_init(&attributes);
  ::posix_spawn_file_actions_adddup2(&actions, in.read.get(), STDIN_FILENO);
  ::posix_spawn_file_actions_adddup2(&actions, out.write.get(), STDOUT_FILENO);
  ::posix_spawn_file_actions_adddup2(&actions, err.write.get(), STDERR_FILENO);
  sigset_t none, defaults;
  ::sigemptyset(&none);
  ::sigemptyset(&defaults);
  for (int signal : {SIGPIPE, SIGINT, SIGTERM, SIGHUP, SIGCHLD}) ::sigaddset(&defaults, signal);
  ::posix_spawnattr_setsigmask(&attributes, &none);
  ::posix_spawnattr_setsigdefault(&attributes, &defaults);
  ::posix_spawnattr_setflags(
      &attributes,
      static_cast<short>(POSIX_SPAWN_SETSID | POSIX_SPAWN_SETSIGMASK | POSIX_SPAWN_SETSIGDEF));
  std::vector<char*> arguments;
  for (std::string& word : words) arguments.push_back(word.data());
  arguments.push_back(nullptr);
  std::vector<char*> environment = EnvironmentWithout(without);
  pid_t pid = 0;
  const int error = ::posix_spawnp(&pid, words[0].c_str(), &actions, &attributes, arguments.data(),
                                   environment.data());
  ::posix_spawn_file_actions_destroy(&actions);
  ::posix_spawnattr_destroy(&attributes);
  if (error != 0) {
    errno = error;
    ThrowErrno("can't run", words[0]);
  }
  return {pid, std::move(in.write), std::move(out.read), std::move(err.read)};
}

bool EndsWithin(pid_t pid, double seconds) {
  const UniqueFd process(static_cast<int>(::syscall(SYS_pidfd_open, pid, 0)));
  const Clock::time_point start = Clock::now();
  while (true) {
    const double left = std::max(0.0, seconds - SecondsSince(start));
    pollfd end{process.get(), POLLIN, 0};
    if (::poll(&end, 1, static_cast<int>(std::ceil(left * 1000))) > 0) return true;
    if (left <= 0) return false;
  }
}

int EndChild(pid_t pid) {
  ::kill(pid, SIGTERM);
  if (!EndsWithin(pid, kEndSeconds)) ::kill(pid, SIGKILL);
  return AwaitChild(pid);
}

void LetEnd(pid_t pid, double seconds) {
  if (!EndsWithin(pid, seconds)) ::kill(pid, SIGKILL);
  if (EndsWithin(pid, kEndSeconds)) AwaitChild(pid);
}

int AwaitChild(pid_t pid) {
  int status = 0;
  while (::waitpid(pid, &status, 0) < 0 && errno == EINTR) {
  }
  return status;
}

}  // namespace graphd::ctl
