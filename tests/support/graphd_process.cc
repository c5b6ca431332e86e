// SPDX-License-Identifier: Apache-2.0
#include "tests/support/graphd_process.h"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <chrono>
#include <thread>
#include <utility>

#include "base/file.h"
#include "client/control.h"

namespace graphd::testing {

GraphdProcess::GraphdProcess(std::vector<std::string> arguments, std::string log_path)
    : log_path_(std::move(log_path)) {
  arguments.insert(arguments.begin(), GRAPHD_BIN_DIR "/graphd");
  std::vector<char*> argv;
  for (std::string& argument : arguments) argv.push_back(argument.data());
  argv.push_back(nullptr);
  UniqueFd log = OpenFile(log_path_, O_WRONLY | O_CREAT | O_APPEND);
  pid_ = ::fork();
  if (pid_ == 0) {
    ::prctl(PR_SET_PDEATHSIG, SIGKILL);
    ::dup2(log.get(), STDERR_FILENO);
    ::dup2(log.get(), STDOUT_FILENO);
    ::execv(argv[0], argv.data());
    ::_exit(127);
  }
}

GraphdProcess::~GraphdProcess() {
  if (pid_ <= 0) return;
  Signal(SIGKILL);
  Wait();
}

GraphdProcess::GraphdProcess(GraphdProcess&& o) noexcept
    : pid_(std::exchange(o.pid_, -1)), log_path_(std::move(o.log_path_)) {}

GraphdProcess& GraphdProcess::operator=(GraphdProcess&& o) noexcept {
  std::swap(pid_, o.pid_);
  std::swap(log_path_, o.log_path_);
  return *this;
}

void GraphdProcess::WaitReady(const std::string& socket_path) {
  const auto deadline = std::chrono::steady_clock::now() + std::chrono::seconds(20);
  std::string reason = "no answer";
  while (std::chrono::steady_clock::now() < deadline) {
    try {
      auto client = ControlClient::ConnectUnix(socket_path, std::chrono::seconds(5));
      if (client->Status().pid == pid_) return;
      reason = "another process answers";
    } catch (const Error& error) {
      reason = error.what();
    }
    int status = 0;
    if (::waitpid(pid_, &status, WNOHANG) == pid_) {
      pid_ = -1;
      FAIL() << "graphd ended: " << Log();
    }
    std::this_thread::sleep_for(std::chrono::milliseconds(5));
  }
  FAIL() << socket_path << ": " << reason << "\n" << Log();
}

void GraphdProcess::Signal(int number) {
  if (pid_ <= 0) return;
  ::kill(pid_, number);
  if (number != SIGSTOP) return;
  // Its threads run on until each of them has looked.
  siginfo_t stopped{};
  ::waitid(P_PID, static_cast<id_t>(pid_), &stopped, WSTOPPED | WEXITED | WNOWAIT);
}

int GraphdProcess::Wait() {
  int status = 0;
  while (::waitpid(pid_, &status, 0) < 0 && errno == EINTR) {
  }
  pid_ = -1;
  return WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
}

std::string GraphdProcess::Log() const { return ReadTextFile(log_path_); }

}  // namespace graphd::testing
