// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <cstdint>
#include <span>

#include "base/strings.h"

namespace graphd {

// Throws Error(kInvalid) with the first id that is outside 0 .. count-1 and its position; `what`
// names the list in the message ("seed", "edge").
inline void CheckIds(std::span<const int64_t> ids, int64_t count, const char* what) {
  for (size_t i = 0; i < ids.size(); i++) {
    if (ids[i] >= 0 && ids[i] < count) continue;
    Throw(ErrorCode::kInvalid, what, " ", ids[i], " at position ", i, " is outside 0..", count - 1);
  }
}

}  // namespace graphd
