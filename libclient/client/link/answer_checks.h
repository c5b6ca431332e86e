// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <string>

#include "base/strings.h"

namespace graphd {

// Throws Error(kCorrupt), which says that the answer of a daemon has `got` of `what` (such as
// "bytes of sources") instead of `expected`.
[[noreturn]] inline void BadAnswer(const std::string& peer, const char* what, size_t got,
                                   size_t expected) {
  Throw(ErrorCode::kCorrupt, "the graphd at ", peer, " answered with ", got, " ", what,
        ", expected ", expected);
}

// Throws Error(kCorrupt) unless the size of a part of an answer, `got`, is `expected`. `what` names
// the part.
inline void CheckBytes(const std::string& peer, const char* what, size_t got, size_t expected) {
  if (got != expected) BadAnswer(peer, what, got, expected);
}

}  // namespace graphd
