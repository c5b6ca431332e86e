// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <cstdint>

namespace graphd {

// Returns how often the trainers of this process's job were started again before it, which
// `graphctl launch --max_restarts` sets (GRAPHD_RESTART_COUNT); 0 if the variable is not set.
// Throws Error(kInvalid), which names the variable and its value, for anything but a count.
uint32_t RestartCount();

}  // namespace graphd
