// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <memory>

#include "wire/graphd.capnp.h"

namespace graphd {

// A capability that passes the file descriptor of a segment or a table to the client. Keeps the
// owner of the descriptor until the client has released the capability. Lives on the connection's
// data thread.
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
