// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <kj/common.h>

#include <memory>

#include "base/strings.h"

namespace graphd {

// A limit on the requests of one client that run at the same time, on all its capabilities. Used on
// the connection's data thread only; owned by the client's RequestContext and the running requests.
class CallLimit : public std::enable_shared_from_this<CallLimit> {
 public:
  static constexpr int kMost = 256;

  // Counts a request until the returned object is destroyed. Throws Error(kOverloaded) at the
  // limit.
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

// A limit on the capabilities that one client holds, such as handles of tensors' memory. Each
// capability keeps an entry in the connection's tables alive, and the object for which it stands.
// Used on the connection's data thread only.
class CapabilityLimit : public std::enable_shared_from_this<CapabilityLimit> {
 public:
  // The maximum number of capabilities. It allows a client to hold every table of a store.
  static constexpr int kMost = 8192;

  // Counts a capability until the returned object is destroyed. Throws Error(kOverloaded) at the
  // limit.
  std::shared_ptr<const void> Enter() {
    if (held_ >= kMost) {
      Throw(ErrorCode::kOverloaded, "this client holds ", held_,
            " handles of tensors, indexes and checkpoints already; release those that are no "
            "longer used");
    }
    const auto leave = [self = shared_from_this()](const void*) { self->held_--; };
    held_++;
    return std::shared_ptr<const void>(this, leave);
  }

 private:
  int held_ = 0;
};

}  // namespace graphd
