// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <cstddef>
#include <functional>

namespace graphd {

// How many threads a computation that is bound by memory should use here: the cores this process
// may run on, 8 at most.
size_t UsefulThreads() noexcept;

// Calls f(0) .. f(threads - 1) at the same time, f(0) on the caller's thread, and returns when all
// have. Rethrows the first exception that one of them threw.
void RunThreads(size_t threads, const std::function<void(size_t)>& f);

}  // namespace graphd
