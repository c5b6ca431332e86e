// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <cstdint>
#include <functional>
#include <string>

namespace graphd {

// A function that gets the progress of a task: the name of the current step, and how much of the
// step is done (done == total at its end). If the total is unknown, `total` is 0 and `done` is the
// seconds that the step has taken. Called by one thread at a time; may be empty.
using StepProgress = std::function<void(const std::string& step, uint64_t done, uint64_t total)>;

}  // namespace graphd
