// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <cstddef>
#include <functional>

namespace graphd {

// Returns the number of threads for a memory-bound computation: the cores that this process may run
// on, at most 8.
size_t UsefulThreads() noexcept;

// Calls f(0) .. f(threads - 1) in parallel, f(0) on the caller's thread, and returns when all have
// returned. Rethrows the first exception that one of them threw.
void RunThreads(size_t threads, const std::function<void(size_t)>& f);

}  // namespace graphd
