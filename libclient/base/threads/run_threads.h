// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <cstddef>
#include <functional>

namespace graphd {

// Returns the number of threads for a memory-bound computation: the cores that this process may run
// on, at most 8.
size_t UsefulThreads() noexcept;

// Calls f(0) .. f(threads - 1) in parallel, f(0) on the caller's thread, and returns when all have
// returned. Rethrows the first exception that one of them threw. Calls for which no thread can be
// started are made on the caller's thread, one after the other, before f(0).
void RunThreads(size_t threads, const std::function<void(size_t)>& f);

// Asks the kernel to run this thread soon after it wakes up, in turns of 0.1 ms. This suits threads
// that pass work on to others, while other threads compute for long. The thread's share of the
// processors stays the same. Only Linux 6.12 and later do this; older kernels ignore it.
void RequestShortSlices() noexcept;

}  // namespace graphd
