// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <sys/types.h>

#include <chrono>
#include <string>
#include <thread>

#include "base/clock.h"

namespace graphd::testing {

// Waits for a condition for at most 30 seconds, and returns whether it has become true.
template <class Condition>
bool Await(const Condition& condition,
           std::chrono::milliseconds pause = std::chrono::milliseconds(20)) {
  const Clock::time_point end = Clock::now() + std::chrono::seconds(30);
  while (!condition()) {
    if (Clock::now() > end) return false;
    std::this_thread::sleep_for(pause);
  }
  return true;
}

// Stops one thread of another process, by ptrace(2), until GoOn. Used by one thread.
class StoppedThread {
 public:
  enum When {
    kInOwnCode,  // while it executes the program's own code: in a library's, it might hold the lock
                 // of a heap, for which every other thread would wait
    kIdle,       // while it has nothing to do, and waits for a condition variable
  };

  // Stops the thread with this name.
  StoppedThread(pid_t process, const std::string& name, When when);
  StoppedThread(const StoppedThread&) = delete;
  StoppedThread& operator=(const StoppedThread&) = delete;
  void GoOn();
  // Waits for the end of the thread with its process.
  void AwaitEnd();

 private:
  pid_t id_ = 0;
};

}  // namespace graphd::testing
