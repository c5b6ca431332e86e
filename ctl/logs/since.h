// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <cstdint>
#include <string>

namespace graphd::ctl {

// Returns the time, in seconds since 1970, that a user means by a text at the time `now`. "15min"
// and "2h" mean that long ago (units: s, min, h, d); "13:05" and "13:05:30" are times of the
// current day; "2026-11-26" and "2026-11-26 13:05:30" are also possible. Times are in this
// machine's time zone. Throws Error(kInvalid) for another text.
double ParseSince(const std::string& text, double now);

}  // namespace graphd::ctl
