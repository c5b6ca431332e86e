// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <cstdint>
#include <string>

#include "store/log/client_table.h"

namespace graphd::store {

// What is true of a store's pages as a whole: kept in RocksDB, where a flush makes it true together
// with the pages, and beside memory that lasts.
struct StoreState {
  uint64_t lsn = 0;  // every push up to it is in the pages
  uint32_t next_id = 1;
  ClientTable::Entries clients;
};

// As bytes, with a checksum: it may be of tens of thousands of clients, and is written each time
// the log is cut.
std::string EncodeState(const StoreState& state);
// Throws Error(kCorrupt).
StoreState DecodeState(const std::string& text);

}  // namespace graphd::store
