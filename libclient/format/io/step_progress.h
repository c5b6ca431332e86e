// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <cstdint>
#include <functional>
#include <string>

namespace graphd {

// Reports the progress of a task: the current step, and how much of it is done (done == total at
// its end) or, if the total is unknown (0), the seconds that it has taken. Called by one thread at
// a time; may be empty.
using StepProgress = std::function<void(const std::string& step, uint64_t done, uint64_t total)>;

}  // namespace graphd
