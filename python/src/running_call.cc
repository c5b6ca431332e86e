// SPDX-License-Identifier: Apache-2.0
#include "running_call.h"

#include <pybind11/pybind11.h>

#include <atomic>
#include <chrono>
#include <thread>

#include "base/clock.h"

namespace graphd::python {
namespace {

namespace py = pybind11;

constexpr double kPatienceSeconds = 30;

// All threads share these two variables, which are atomic and therefore need no mutex.
std::atomic<int> running = 0;
std::atomic<bool> ended = false;
thread_local bool ends_interpreter = false;

}  // namespace

RunningCall::RunningCall() noexcept { running++; }

RunningCall::~RunningCall() { running--; }

bool RunningCall::AreRefused() noexcept { return ended && !ends_interpreter; }

void RunningCall::EndAll() {
  ends_interpreter = true;
  ended = true;
  const auto begin = Clock::now();
  while (running > 0 && SecondsSince(begin) < kPatienceSeconds) {
    {
      const py::gil_scoped_release release;
      std::this_thread::sleep_for(std::chrono::milliseconds(2));
    }
    if (PyErr_CheckSignals() != 0) throw py::error_already_set();
  }
}

void RunningCall::ForgetAll() { running = 0; }

}  // namespace graphd::python
