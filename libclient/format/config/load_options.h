// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <cstdint>
#include <functional>

namespace graphd {

struct LoadOptions {
  // Called repeatedly on the loading thread with the bytes loaded so far and the total; may be
  // empty.
  std::function<void(uint64_t done, uint64_t total)> progress;
  // Whether to verify the checksums of native files (a pass over memory at more than 10 GB/s).
  bool verify_checksums = true;
};

}  // namespace graphd
