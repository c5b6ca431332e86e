// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <cstdint>
#include <functional>
#include <string>

namespace graphd {

// Told now and then how far a task is: its step, and how much of that is done (done == total at its
// end), or, if nobody knows (total 0), the seconds it took. By one thread at a time; may be empty.
using StepProgress = std::function<void(const std::string& step, uint64_t done, uint64_t total)>;

}  // namespace graphd
