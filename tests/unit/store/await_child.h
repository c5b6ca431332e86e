// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <poll.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include <chrono>
#include <cstddef>
#include <thread>

namespace graphd::store::testing {

// The time after which a child process that does nothing hangs: far longer than it takes on a busy
// machine with a sanitizer.
inline constexpr std::chrono::seconds kChildHangs{240};

// Waits until the child has ended, and returns its status as waitpid does. A child that hangs is
// ended by SIGABRT, so that its status is not the one that a test expects.
inline int AwaitChild(pid_t child) {
  int status = 0;
  const auto end = std::chrono::steady_clock::now() + kChildHangs;
  while (::waitpid(child, &status, WNOHANG) == 0) {
    if (std::chrono::steady_clock::now() > end) {
      ::kill(child, SIGABRT);
      ::waitpid(child, &status, 0);
      break;
    }
    std::this_thread::sleep_for(std::chrono::milliseconds(1));
  }
  return status;
}

// Reads a record that a child writes to a pipe at once. Returns false if the child has ended, or if
// it hangs.
inline bool ReadRecord(int pipe, void* record, size_t bytes) {
  pollfd readable{pipe, POLLIN, 0};
  constexpr std::chrono::milliseconds kLongest = kChildHangs;
  if (::poll(&readable, 1, static_cast<int>(kLongest.count())) != 1) return false;
  return ::read(pipe, record, bytes) == static_cast<ssize_t>(bytes);
}

}  // namespace graphd::store::testing
