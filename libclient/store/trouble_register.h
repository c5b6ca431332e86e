// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <cstdint>
#include <map>
#include <string>

#include "base/threads/mutex.h"
#include "store/rows/page_db.h"

namespace graphd::store {

// The reasons why tables can't be trusted, such as lost pushes or an unfinished restore. They are
// stored in RocksDB and survive a restart. Thread-safe, but only one thread at a time may call Load
// or Set.
class TroubleRegister {
 public:
  // `db` outlives the register.
  explicit TroubleRegister(PageDb& db) : db_(db) {}

  // Reads the entry of a table from RocksDB. Throws Error(kCorrupt) or Error(kIo).
  void Load(uint32_t table);
  // Returns the reason, or an empty text.
  std::string Find(uint32_t table) const;
  // Returns the name of the table's entry in RocksDB.
  static std::string KeyOf(uint32_t table) { return "trouble/" + std::to_string(table); }
  // Forgets the reason of a table whose entry was removed from RocksDB.
  void Forget(uint32_t table);
  // Sets the reason; an empty text removes it. The caller flushes RocksDB. Throws Error(kIo).
  void Set(uint32_t table, const std::string& why);

 private:
  PageDb& db_;
  mutable SharedMutex mutex_;  // no other lock is taken while it is held
  std::map<uint32_t, std::string> by_table_ GRAPHD_GUARDED_BY(mutex_);
};

}  // namespace graphd::store
