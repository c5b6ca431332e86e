// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <cstddef>
#include <cstdint>
#include <functional>

#include "base/threads/run_threads.h"

namespace graphd {

struct LoadOptions {
  // Called repeatedly on the loading thread with the bytes loaded so far and the total; may be
  // empty.
  std::function<void(uint64_t done, uint64_t total)> progress;
  // The maximum number of threads that read a native file at the same time.
  size_t threads = UsefulThreads();
  // Whether to verify the checksums of native files (a pass over memory at more than 10 GB/s).
  bool verify_checksums = true;
};

}  // namespace graphd
