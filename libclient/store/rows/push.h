// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <array>
#include <compare>
#include <cstddef>
#include <cstdint>
#include <span>

#include "base/fair_queue.h"
#include "store/rows/apply_rule.h"

namespace graphd::store {

// The identity of a client that pushes. Clients of one job have the same `high`.
struct ClientId {
  uint64_t high = 0;
  uint64_t low = 0;
  auto operator<=>(const ClientId&) const = default;
};

// A Push changes rows of one table. It is logged, applied once, and acknowledged as a whole. `rows`
// and `payload` are views: the caller that submits the push must keep their memory until the push
// is done.
struct Push {
  uint64_t lsn = 0;  // log sequence number: 1, 2, 3 ... in the order of application
  uint32_t table = 0;
  UpdateRule rule;
  ClientId client;
  uint64_t sequence = 0;               // increases per client
  std::span<const int64_t> rows;       // row numbers in this partition, 0 .. num_rows - 1
  std::span<const std::byte> payload;  // for each row the same bytes: row_bytes, or more for kLoad
  JobShare share{};                    // the job that pushes; not logged
};

}  // namespace graphd::store
