// SPDX-License-Identifier: Apache-2.0
#pragma once

namespace graphd::python {

// A part of a C++ function that needs the GIL once more: a call without the GIL, or code that may
// run Python's, in which other threads get the GIL in turn. The interpreter waits for these parts
// before it ends, because a thread that asks for the GIL after that ends at once, and the program
// is aborted if this happens in a C++ function.
class RunningCall {
 public:
  RunningCall() noexcept;
  ~RunningCall();
  RunningCall(const RunningCall&) = delete;
  RunningCall& operator=(const RunningCall&) = delete;

  // Returns whether the interpreter ends, and this thread should therefore call nothing; false in
  // the thread that ends it.
  static bool AreRefused() noexcept;
  // Makes AreRefused return true in other threads, and waits until no call runs, but at most for
  // some seconds, because a call that computes does not notice. A signal such as Ctrl-C ends the
  // wait. The interpreter calls this function before it ends. Requires the GIL.
  static void EndAll();
  // Forgets the calls that the threads of the parent process had under way.
  static void ForgetAll();
};

}  // namespace graphd::python
