// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <memory>

#include "wire/graphd.capnp.h"

namespace graphd {

// Carries the descriptor of a segment or a table to the client; keeps its owner until the client
// has let go.
class SegmentHandleImpl final : public wire::SegmentHandle::Server {
 public:
  SegmentHandleImpl(std::shared_ptr<const void> owner, int fd)
      : owner_(std::move(owner)), fd_(fd) {}
  kj::Maybe<int> getFd() override { return fd_; }

 private:
  const std::shared_ptr<const void> owner_;
  const int fd_;
};

}  // namespace graphd
