// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <atomic>
#include <cstdint>

namespace graphd {

// The daemon's statistics of all requests since its start. Any thread may change them; they have a
// cache line of their own.
struct alignas(64) RequestCounters {
  std::atomic<uint64_t> requests{0}, rows_served{0}, edges_sampled{0}, bytes_sent{0};
};

}  // namespace graphd
