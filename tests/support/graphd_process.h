// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <sys/types.h>

#include <string>
#include <vector>

namespace graphd::testing {

// A graphd child process, which the destructor kills if it is still running.
class GraphdProcess {
 public:
  // Starts `graphd <arguments>` and appends its log to `log_path`. The environment variable
  // GRAPHD_TEST_DESCRIPTORS bounds its descriptors.
  GraphdProcess(std::vector<std::string> arguments, std::string log_path);
  ~GraphdProcess();
  GraphdProcess(GraphdProcess&& o) noexcept;
  GraphdProcess& operator=(GraphdProcess&& o) noexcept;

  pid_t pid() const noexcept { return pid_; }
  // Waits until the process answers a status request on `socket_path`. Fails the test, printing the
  // log, after 20 s or when the process ends.
  void WaitReady(const std::string& socket_path);
  // Sends a signal. With SIGSTOP, returns when all threads of the process have stopped.
  void Signal(int number);
  // Waits for the end of the process and returns the exit code, or 128 + signal.
  int Wait();
  std::string Log() const;

 private:
  pid_t pid_ = -1;
  std::string log_path_;
};

}  // namespace graphd::testing
