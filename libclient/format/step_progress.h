// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <cstdint>
#include <functional>
#include <string>

namespace graphd {

// Told now and then how far a long task is: the step it is in, and how much of the step is done
// (done == total at its end). Called on the thread that works; may be empty.
using StepProgress = std::function<void(const std::string& step, uint64_t done, uint64_t total)>;

}  // namespace graphd
