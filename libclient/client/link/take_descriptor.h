// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <fcntl.h>

#include "base/file.h"
#include "wire/graphd.capnp.h"

namespace graphd {

// Sets `to` to a copy of the segment's descriptor, if the daemon sent a descriptor. The promise
// holds the handle until it is fulfilled; `to` must live until then.
inline kj::Promise<void> TakeDescriptor(wire::SegmentHandle::Client handle, UniqueFd& to) {
  auto descriptor = handle.getFd();
  return descriptor
      .then([&to](kj::Maybe<int> number) {
        KJ_IF_MAYBE (n, number) {
          to = UniqueFd(::fcntl(*n, F_DUPFD_CLOEXEC, 0));
        }
      })
      .attach(kj::mv(handle));
}

}  // namespace graphd
