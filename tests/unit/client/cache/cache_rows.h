// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <cstring>
#include <numeric>
#include <vector>

#include "base/rng.h"
#include "client/cache/row_cache.h"

// Rows whose contents follow from their feature and id, and functions that store and read them.

namespace graphd::testing {

inline void FillRow(size_t table, int64_t id, std::byte* row, size_t row_bytes) {
  CounterRng random(CombineKeys(table, static_cast<uint64_t>(id)));
  for (size_t i = 0; i < row_bytes; i++) row[i] = static_cast<std::byte>(random.Next());
}

inline std::vector<std::byte> RowsOf(size_t table, const std::vector<int64_t>& ids,
                                     size_t row_bytes) {
  std::vector<std::byte> rows(ids.size() * row_bytes);
  for (size_t i = 0; i < ids.size(); i++) {
    FillRow(table, ids[i], rows.data() + i * row_bytes, row_bytes);
  }
  return rows;
}

inline std::vector<int64_t> Positions(size_t count) {
  std::vector<int64_t> positions(count);
  std::iota(positions.begin(), positions.end(), 0);
  return positions;
}

inline void StoreRows(RowCache& cache, size_t table, const std::vector<int64_t>& ids,
                      size_t row_bytes) {
  cache.Insert(table, ids, Positions(ids.size()), RowsOf(table, ids, row_bytes).data());
}

// Reads rows. Returns how many of them are cached, or -1 if one of these is wrong.
inline int64_t ReadRows(RowCache& cache, size_t table, const std::vector<int64_t>& ids,
                        size_t row_bytes) {
  std::vector<std::byte> rows(ids.size() * row_bytes), expected(row_bytes);
  std::vector<uint32_t> missing;
  cache.Read(table, ids, Positions(ids.size()), rows.data(), missing);
  size_t next = 0;
  for (uint32_t i = 0; i < ids.size(); i++) {
    if (next < missing.size() && missing[next] == i) {
      next++;
      continue;
    }
    FillRow(table, ids[i], expected.data(), row_bytes);
    if (std::memcmp(rows.data() + i * row_bytes, expected.data(), row_bytes) != 0) return -1;
  }
  return static_cast<int64_t>(ids.size() - missing.size());
}

}  // namespace graphd::testing
