// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <string>

#include "base/strings.h"

namespace graphd {

// Throws Error(kCorrupt): the answer of a daemon has `got` of `what`.
[[noreturn]] inline void BadAnswer(const std::string& peer, const char* what, size_t got,
                                   size_t expected) {
  Throw(ErrorCode::kCorrupt, "the graphd at ", peer, " answered with ", got, " ", what,
        ", expected ", expected);
}

// Throws Error(kCorrupt) unless `what` of an answer is as long as it must be.
inline void CheckBytes(const std::string& peer, const char* what, size_t got, size_t expected) {
  if (got != expected) BadAnswer(peer, what, got, expected);
}

}  // namespace graphd
