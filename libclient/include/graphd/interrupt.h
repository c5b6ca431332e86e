// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <functional>

#include "graphd/export.h"

// Ending calls that wait: for a program that learns of Ctrl-C, or of anything else, only when it
// looks.
//
//   const InterruptCheck check([] { if (stop_requested) throw Stopped(); });
//   graph.Barrier();  // throws Stopped soon after stop_requested is set

namespace GRAPHD_EXPORT graphd {

// While it lives, every call of libgraphclient that its thread makes calls `check` about every 50
// ms as long as it waits: for a daemon, for other trainers, for a sampler. What `check` throws,
// which must not be a graphd::Error, comes out of the call, and requests of it that are under way
// are dropped; whether a daemon has done them is not known, as after Error(kDeadline). Calls that
// don't wait don't look. Used by the thread that made it; the one before it, if there is one,
// counts again afterwards.
class InterruptCheck {
 public:
  explicit InterruptCheck(std::function<void()> check);
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
