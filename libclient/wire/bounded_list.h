// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <capnp/list.h>

#include "base/strings.h"

namespace graphd {

// The largest number of structures that a reader accepts in one list.
inline constexpr kj::uint kMaxListed = 1 << 16;

// Returns a list of structures from a message. Throws Error(kCorrupt) if it has more than
// kMaxListed: structures without data take no bytes, so that a message of a few bytes can claim
// millions.
template <class List>
List BoundedList(List list, const char* what) {
  if (list.size() > kMaxListed) {
    Throw(ErrorCode::kCorrupt, "a message has ", list.size(), " ", what, ", expected at most ",
          kMaxListed);
  }
  return list;
}

}  // namespace graphd
