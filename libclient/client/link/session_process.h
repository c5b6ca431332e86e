// SPDX-License-Identifier: Apache-2.0
#pragma once
#include "base/fork.h"
#include "graphd/error.h"

namespace graphd {

// The process that a session belongs to.
class SessionProcess {
 public:
  bool is_this() const noexcept { return process_.is_this(); }
  // Throws Error(kInvalid) in a process that was forked from the session's.
  void Check() const {
    if (is_this()) return;
    throw Error(ErrorCode::kInvalid,
                "this process was forked from the one that this session belongs to; call "
                "graphd.distributed.initialize() in this process (graphd::Initialize in C++), and "
                "make graphs, tensors and loaders again");
  }

 private:
  OwnProcess process_;
};

}  // namespace graphd
