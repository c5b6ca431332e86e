// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <functional>

#include "graphd/export.h"

// A way to end calls that wait, for programs that learn of Ctrl-C or another event only by polling.
//
//   const InterruptCheck check([] { if (stop_requested) throw Stopped(); });
//   graph.Barrier();  // throws Stopped soon after stop_requested is set

namespace GRAPHD_EXPORT graphd {

// An object that makes calls of libgraphclient poll a function, `check`, while they wait. It
// applies to the thread that made it, from its construction to its destruction: a call in this
// thread calls `check` about every 50 ms while it waits for a daemon, for other trainers or for a
// worker. If `check` throws, the call drops its running requests and passes the exception on, which
// must not be a graphd::Error. As after Error(kDeadline), it is then unknown whether a daemon has
// executed these requests. Calls that do not wait do not poll. Objects of a thread may be nested:
// only the innermost one is polled.
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
