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

// Copies rows of a feature, converted from the stored dtype to that of readers: rows of `out` have
// table.row_bytes().
void GatherRows(const FeatureTable& table, std::span<const int64_t> from,
                std::span<const int64_t> to, std::byte* out) noexcept;

// Does the reverse: out row to[i] = source row i.
void ScatterRows(const std::byte* source, size_t row_bytes, std::span<const int64_t> to,
                 std::byte* out) noexcept;

// Does the same with rows of a feature as they are stored, and converts them as the other
// GatherRows does: rows of `out` have `row_bytes`.
void ScatterRows(const Encoding& encoding, const std::byte* source, size_t row_bytes,
                 std::span<const int64_t> to, std::byte* out) noexcept;

}  // namespace graphd
