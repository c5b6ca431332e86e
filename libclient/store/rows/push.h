// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <array>
#include <compare>
#include <cstddef>
#include <cstdint>
#include <span>

#include "store/rows/update_rule.h"

namespace graphd::store {

// Who pushes, drawn at random once by each client.
struct ClientId {
  uint64_t high = 0;
  uint64_t low = 0;
  auto operator<=>(const ClientId&) const = default;
};

// One change of one table: the unit that is logged, applied once, and acknowledged. A view; who
// submits it keeps `rows` and `payload` alive until it is done.
struct Push {
  uint64_t lsn = 0;  // log sequence number: 1, 2, 3 ... in the order of application
  uint32_t table = 0;
  UpdateRule rule;
  ClientId client;
  uint64_t sequence = 0;               // ascends per client
  std::span<const int64_t> rows;       // of this partition, 0 .. num_rows - 1
  std::span<const std::byte> payload;  // as much for each of `rows`: row_bytes, or what kLoad has
};

}  // namespace graphd::store
