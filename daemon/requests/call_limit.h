// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <kj/common.h>

#include <memory>

#include "base/strings.h"

namespace graphd {

// How many requests of one client are under way, whichever of its capabilities they came to.
// Belongs to the thread of its connection.
class CallLimit : public std::enable_shared_from_this<CallLimit> {
 public:
  static constexpr int kMost = 256;

  // Counts a request until what it returns is destroyed. Throws Error(kOverloaded).
  auto Enter() {
    if (running_ >= kMost) {
      Throw(ErrorCode::kOverloaded, "this client has ", running_,
            " requests in flight already; wait for answers");
    }
    running_++;
    return kj::defer([self = shared_from_this()] { self->running_--; });
  }

 private:
  int running_ = 0;
};

}  // namespace graphd
