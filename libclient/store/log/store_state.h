// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <cstddef>
#include <cstdint>
#include <string>

#include "store/log/client_table.h"

namespace graphd::store {

// The state of a store's pages as a whole. It is stored in RocksDB, where it becomes durable in the
// same flush as the pages, and in a PersistentArena.
struct StoreState {
  uint64_t lsn = 0;      // the pages have all pushes up to this one
  uint32_t next_id = 1;  // id of the next table
  ClientTable::Entries clients;
};

// The size of the largest encoded state.
inline constexpr size_t kMaxStateBytes = 32 + ClientTable::kMaxClients * sizeof(ClientTable::Entry);
// Encodes the state as bytes with a checksum. It is binary because it may have tens of thousands of
// clients, and is written whenever the log is truncated.
std::string EncodeState(const StoreState& state);
// Throws Error(kCorrupt).
StoreState DecodeState(const std::string& text);

}  // namespace graphd::store
