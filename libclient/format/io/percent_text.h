// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <cstdint>
#include <string>

namespace graphd {

// Returns a share as text for people: "12.3 %", "0.25 %"; "0 %" if `all` is 0. Returns "100 %" only
// if `part` is `all` and not 0.
std::string PercentText(uint64_t part, uint64_t all);

}  // namespace graphd
