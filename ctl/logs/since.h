// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <cstdint>
#include <string>

namespace graphd::ctl {

// Returns the time, in seconds since 1970, that a user means at the time `now`: "15min" or "2h"
// ago (s, min, h, d), "13:05" or "13:05:30" of this day, "2026-11-26", or "2026-11-26 13:05:30".
// Times are those of this machine's zone. Throws Error(kInvalid) for another text.
double ParseSince(const std::string& text, double now);

}  // namespace graphd::ctl
