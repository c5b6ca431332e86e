// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <memory>

#include "graph/segment.h"
#include "wire/graphd.capnp.h"

namespace graphd {

// Carries a segment's descriptor to the client; keeps the segment until the client has let go.
class SegmentHandleImpl final : public wire::SegmentHandle::Server {
 public:
  explicit SegmentHandleImpl(std::shared_ptr<const Segment> segment)
      : segment_(std::move(segment)) {}
  kj::Maybe<int> getFd() override { return segment_->fd(); }

 private:
  std::shared_ptr<const Segment> segment_;
};

}  // namespace graphd
