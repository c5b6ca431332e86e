// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <cstdint>

namespace graphd {

// Returns how often the trainers of the job had been restarted when this process was started.
// `graphctl launch --max_restarts` passes the count in GRAPHD_RESTART_COUNT; without this variable
// the count is 0. Throws Error(kInvalid), which names the variable and its value, if the value is
// not a count.
uint32_t RestartCount();

}  // namespace graphd
