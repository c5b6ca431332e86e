// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <cstddef>
#include <cstdint>
#include <span>

#include "graph/feature_table.h"

namespace graphd {

// Copies rows of a table: row to[i] of `out` becomes row from[i] of `table`; an empty `to` means
// to[i] == i. Rows are `row_bytes` long; indices must be in range (checked by the caller, once).
// Reads are prefetched. Thread-safe: no state.
void GatherRows(const std::byte* table, size_t row_bytes, std::span<const int64_t> from,
                std::span<const int64_t> to, std::byte* out) noexcept;

// Copies rows of a feature, and converts them from the stored dtype to the dtype that readers get.
// A row of `out` is table.row_bytes() long.
void GatherRows(const FeatureTable& table, std::span<const int64_t> from,
                std::span<const int64_t> to, std::byte* out) noexcept;

// Copies row i of `source` to row to[i] of `out`, for each i. Rows are `row_bytes` long.
void ScatterRows(const std::byte* source, size_t row_bytes, std::span<const int64_t> to,
                 std::byte* out) noexcept;

// Does the same with rows of a feature in their stored dtype, and converts them to the dtype that
// readers get. A row of `out` is `row_bytes` long.
void ScatterRows(const Encoding& encoding, const std::byte* source, size_t row_bytes,
                 std::span<const int64_t> to, std::byte* out) noexcept;

}  // namespace graphd
