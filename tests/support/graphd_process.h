// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <sys/types.h>

#include <string>
#include <vector>

namespace graphd::testing {

// A real graphd as a child process. Killed, if need be, when the object goes.
class GraphdProcess {
 public:
  // Starts `graphd <arguments>` with its log in `log_path`, appended.
  GraphdProcess(std::vector<std::string> arguments, std::string log_path);
  ~GraphdProcess();
  GraphdProcess(GraphdProcess&& o) noexcept;
  GraphdProcess& operator=(GraphdProcess&& o) noexcept;

  pid_t pid() const noexcept { return pid_; }
  // Waits until a status request on `socket_path` is answered. Fails the test after 20 s, or when
  // the process ends, with its log.
  void WaitReady(const std::string& socket_path);
  // SIGSTOP: returns when all threads of it stand.
  void Signal(int number);
  // Waits for the end and returns the exit code, or 128 + signal.
  int Wait();
  std::string Log() const;

 private:
  pid_t pid_ = -1;
  std::string log_path_;
};

}  // namespace graphd::testing
