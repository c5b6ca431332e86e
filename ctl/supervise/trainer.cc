// SPDX-License-Identifier: Apache-2.0
#include "ctl/supervise/trainer.h"

#include <fcntl.h>
#include <linux/close_range.h>
#include <signal.h>
#include <sys/prctl.h>
#include <unistd.h>

#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <map>

#include "base/strings.h"

namespace graphd::ctl {
namespace {

// Returns our own environment, overridden by `variables`.
std::vector<std::string> MergedEnvironment(
    const std::vector<std::pair<std::string, std::string>>& variables) {
  std::map<std::string, std::string> merged;
  for (char** entry = environ; *entry; entry++) {
    const char* equals = std::strchr(*entry, '=');
    if (equals) merged[std::string(*entry, static_cast<size_t>(equals - *entry))] = equals + 1;
  }
  for (const auto& [name, value] : variables) merged[name] = value;
  std::vector<std::string> environment;
  for (const auto& [name, value] : merged) environment.push_back(name + "=" + value);
  return environment;
}

std::vector<char*> Pointers(std::vector<std::string>& words) {
  std::vector<char*> pointers;
  for (std::string& word : words) pointers.push_back(word.data());
  pointers.push_back(nullptr);
  return pointers;
}

[[noreturn]] void DieInChild(const char* what, const char* name, int code) {
  const char* pieces[] = {"graphctl: ", what, " '", name, "': ", std::strerror(errno), "\n"};
  for (const char* piece : pieces) {
    [[maybe_unused]] ssize_t written = ::write(STDERR_FILENO, piece, std::strlen(piece));
  }
  ::_exit(code);
}

struct Pipe {
  UniqueFd read, write;
};

Pipe MakePipe() {
  int ends[2];
  if (::pipe2(ends, O_CLOEXEC) != 0) ThrowErrno("can't create", "a pipe");
  ::fcntl(ends[0], F_SETFL, O_NONBLOCK);
  return {UniqueFd(ends[0]), UniqueFd(ends[1])};
}

[[noreturn]] void RunChild(pid_t parent, int out, int err, const std::string& workspace,
                           char* const* words, char* const* environment) {
  ::setpgid(0, 0);
  ::prctl(PR_SET_PDEATHSIG, SIGKILL);
  if (::getppid() != parent) ::_exit(137);  // the parent died before prctl took effect
  sigset_t none;
  ::sigemptyset(&none);
  ::sigprocmask(SIG_SETMASK, &none, nullptr);
  ::signal(SIGPIPE, SIG_DFL);
  const int nothing = ::open("/dev/null", O_RDONLY);
  ::dup2(nothing, STDIN_FILENO);
  ::dup2(out, STDOUT_FILENO);
  ::dup2(err, STDERR_FILENO);
  ::close_range(3, ~0u, CLOSE_RANGE_CLOEXEC);
  if (::chdir(workspace.c_str()) != 0) DieInChild("can't enter", workspace.c_str(), 126);
  ::execvpe(words[0], words, environment);
  DieInChild("can't run", words[0], errno == ENOENT ? 127 : 126);
}

}  // namespace

StartedTrainer StartTrainer(const UserCommand& command, const std::string& workspace,
                            const std::vector<std::pair<std::string, std::string>>& variables) {
  std::vector<std::string> words = command.words;
  if (command.is_shell) words = {"/bin/sh", "-c", command.words[0]};
  std::vector<std::string> environment = MergedEnvironment(variables);
  // execvpe searches the PATH of this process, so a PATH from --extra_envs must be set here, too.
  for (const auto& [name, value] : variables) {
    if (name != "PATH") continue;
    // It is not set again if it has this value already, because another thread may be reading the
    // environment.
    const char* const path = std::getenv("PATH");
    if (!path || value != path) ::setenv("PATH", value.c_str(), 1);
  }
  const std::vector<char*> word_pointers = Pointers(words);
  const std::vector<char*> environment_pointers = Pointers(environment);
  Pipe out = MakePipe(), err = MakePipe();
  const pid_t parent = ::getpid();
  const pid_t pid = ::fork();
  if (pid < 0) ThrowErrno("can't start", words[0]);
  if (pid == 0) {
    RunChild(parent, out.write.get(), err.write.get(), workspace, word_pointers.data(),
             environment_pointers.data());
  }
  ::setpgid(pid, pid);  // both processes do this, so that the group exists when this returns
  return {pid, std::move(out.read), std::move(err.read)};
}

}  // namespace graphd::ctl
