// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <algorithm>
#include <cstdint>
#include <span>
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

// Throws Error(kCorrupt) unless all ids of an answer are in 0..count-1, because they index tables
// later. `what` names the kind of the ids, such as "node".
inline void CheckIds(const std::string& peer, const char* what, std::span<const int64_t> ids,
                     int64_t count) {
  uint64_t largest = 0;  // a negative id is larger than all others
  for (const int64_t id : ids) largest = std::max(largest, static_cast<uint64_t>(id));
  if (ids.empty() || largest < static_cast<uint64_t>(count)) return;
  Throw(ErrorCode::kCorrupt, "the graphd at ", peer, " answered with ", what, " ",
        static_cast<int64_t>(largest), " of ", count);
}

}  // namespace graphd
