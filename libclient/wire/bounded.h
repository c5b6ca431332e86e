// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <capnp/blob.h>
#include <capnp/list.h>

#include <string>

#include "base/strings.h"

namespace graphd {

// The largest number of structures that a reader accepts in one list.
inline constexpr kj::uint kMaxListed = 1 << 16;

// Returns a list of structures from a message. Throws Error(kCorrupt) if it has more than
// kMaxListed. The reason for the limit is that structures without data take no bytes in a message,
// so a message of a few bytes could list millions of them and make its reader use much memory.
template <class List>
List BoundedList(List list, const char* what) {
  if (list.size() > kMaxListed) {
    Throw(ErrorCode::kCorrupt, "a message has ", list.size(), " ", what, ", expected at most ",
          kMaxListed);
  }
  return list;
}

// Returns a copy of a text from a message. Throws Error(kInvalid), which names `what` ("the name of
// a feature"), if it has more than `most` bytes. The reason for the limit is that a message may be
// large. Copies of its texts, and errors that quote them, are charged to nobody, so one message
// could take much memory.
inline std::string BoundedText(capnp::Text::Reader text, size_t most, const char* what) {
  if (text.size() > most) {
    Throw(ErrorCode::kInvalid, what, " has ", text.size(), " bytes; at most ", most,
          " are possible");
  }
  return {text.begin(), text.size()};
}

}  // namespace graphd
