// SPDX-License-Identifier: Apache-2.0
#include "tests/support/graphd_process.h"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <chrono>
#include <cstdlib>
#include <exception>
#include <iostream>
#include <mutex>
#include <set>
#include <thread>
#include <utility>

#include "base/file.h"
#include "client/link/control.h"

namespace graphd::testing {
namespace {

std::mutex g_running_mutex;
std::set<const GraphdProcess*> g_running;  // guarded by g_running_mutex
std::terminate_handler g_default_terminate = nullptr;

// Prints the logs of all daemons and aborts: an exception that leaves a thread is usually caused by
// a daemon's end.
[[noreturn]] void PrintLogsAndAbort() {
  {
    const std::lock_guard lock(g_running_mutex);
    for (const GraphdProcess* daemon : g_running) {
      if (daemon->pid() <= 0) continue;
      siginfo_t ended{};
      ::waitid(P_PID, static_cast<id_t>(daemon->pid()), &ended, WEXITED | WNOHANG | WNOWAIT);
      std::cerr << "graphd " << daemon->pid();
      if (ended.si_pid != 0) std::cerr << " ended (" << ended.si_status << ")";
      std::cerr << ":\n" << daemon->Log();
    }
  }
  g_default_terminate();
  std::abort();
}

}  // namespace

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
    if (const char* few = std::getenv("GRAPHD_TEST_DESCRIPTORS")) {
      const auto number = static_cast<rlim_t>(std::atoi(few));
      const rlimit limit{number, number};
      ::setrlimit(RLIMIT_NOFILE, &limit);
    }
    ::dup2(log.get(), STDERR_FILENO);
    ::dup2(log.get(), STDOUT_FILENO);
    ::execv(argv[0], argv.data());
    ::_exit(127);
  }
  const std::lock_guard lock(g_running_mutex);
  if (g_default_terminate == nullptr) g_default_terminate = std::set_terminate(PrintLogsAndAbort);
  g_running.insert(this);
}

GraphdProcess::~GraphdProcess() {
  {
    const std::lock_guard lock(g_running_mutex);
    g_running.erase(this);
  }
  if (pid_ <= 0) return;
  int status = 0;
  if (::waitpid(pid_, &status, WNOHANG) == pid_) {
    const bool wanted = WIFSIGNALED(status) ? WTERMSIG(status) == SIGKILL : status == 0;
    EXPECT_TRUE(wanted) << "graphd ended by itself, status " << status << ": " << Log();
    return;
  }
  Signal(SIGKILL);
  Wait();
}

GraphdProcess::GraphdProcess(GraphdProcess&& o) noexcept
    : pid_(std::exchange(o.pid_, -1)), log_path_(std::move(o.log_path_)) {
  const std::lock_guard lock(g_running_mutex);
  g_running.erase(&o);
  g_running.insert(this);
}

GraphdProcess& GraphdProcess::operator=(GraphdProcess&& o) noexcept {
  std::swap(pid_, o.pid_);
  std::swap(log_path_, o.log_path_);
  const std::lock_guard lock(g_running_mutex);
  g_running.insert(this);
  return *this;
}

void GraphdProcess::WaitReady(const std::string& socket_path) {
  const auto deadline = std::chrono::steady_clock::now() + std::chrono::seconds(60);
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
  // The threads run until each of them has noticed the signal.
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
