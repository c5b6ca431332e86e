// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <cstdint>
#include <string>

// The names of a store's texts in RocksDB.

namespace graphd::store {

inline constexpr const char* kStateKey = "state";  // StoreState
inline constexpr const char* kTablePrefix = "table/";
inline std::string TableKey(uint32_t id) { return kTablePrefix + std::to_string(id); }

}  // namespace graphd::store
