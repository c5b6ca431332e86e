// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <cstdint>
#include <functional>

namespace graphd {

struct LoadOptions {
  // Called now and then with bytes done and bytes in all; may be empty. Called on the loading
  // thread.
  std::function<void(uint64_t done, uint64_t total)> progress;
  // Compare the checksums that native files carry (a pass over memory at more than 10 GB/s).
  bool verify_checksums = true;
};

}  // namespace graphd
