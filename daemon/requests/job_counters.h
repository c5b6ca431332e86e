// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <atomic>
#include <cstdint>

namespace graphd {

// The daemon's statistics of one job's requests since its first member attached. Any thread may
// change them; they have cache lines of their own.
struct alignas(64) JobCounters {
  std::atomic<uint64_t> requests{0}, rows_served{0}, edges_sampled{0}, bytes_sent{0};
};

}  // namespace graphd
