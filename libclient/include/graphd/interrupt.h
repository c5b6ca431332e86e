// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <functional>

#include "graphd/export.h"

// A way to end calls that wait, for programs that learn of Ctrl-C or another event only by polling.
//
//   const InterruptCheck check([] { if (stop_requested) throw Stopped(); });
//   graph.Barrier();  // throws Stopped soon after stop_requested is set

namespace GRAPHD_EXPORT graphd {

// A function that is polled while calls of libgraphclient wait. During the lifetime of the object,
// every call that its thread makes calls `check` about every 50 ms while it waits for a daemon, for
// other trainers or for a worker. The call passes on an exception that `check` throws, which must
// not be a graphd::Error, and drops its running requests; as after Error(kDeadline), it is then
// unknown whether a daemon has executed these requests. Calls that do not wait do not poll. An
// object is used by the thread that made it. Objects may be nested: the innermost one is polled.
class InterruptCheck {
 public:
  // Starts polling `check` in this thread.
  explicit InterruptCheck(std::function<void()> check);
  // Ends polling; the previous object of this thread, if any, is polled again.
  ~InterruptCheck();
  InterruptCheck(const InterruptCheck&) = delete;
  InterruptCheck& operator=(const InterruptCheck&) = delete;

 private:
  friend struct Interruptions;
  std::function<void()> check_;
  InterruptCheck* outer_;
  bool has_thrown_ = false;
};

}  // namespace graphd
