// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <atomic>
#include <cstdint>

namespace graphd {

// The daemon's statistics of all connections since its start. The main thread changes them; any
// thread may read them.
struct ConnectionCounters {
  std::atomic<uint64_t> open{0}, accepted{0};
  std::atomic<uint64_t> gave_way{0};          // closed for others because of --max_connections
  std::atomic<uint64_t> refused_by_limit{0};  // --max_connections
  std::atomic<uint64_t> refused_by_descriptors{0};  // others are kept for the store
};

}  // namespace graphd
