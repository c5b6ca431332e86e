// SPDX-License-Identifier: Apache-2.0
#include "store/trouble_register.h"

#include <optional>

namespace graphd::store {

void TroubleRegister::Load(uint32_t table) {
  const std::optional<std::string> why = db_.GetText(KeyOf(table));
  if (!why) return;
  const WriterLock lock(mutex_);
  by_table_[table] = *why;
}

std::string TroubleRegister::Find(uint32_t table) const {
  const ReaderLock lock(mutex_);
  const auto found = by_table_.find(table);
  return found == by_table_.end() ? "" : found->second;
}

void TroubleRegister::Forget(uint32_t table) {
  const WriterLock lock(mutex_);
  by_table_.erase(table);
}

void TroubleRegister::Set(uint32_t table, const std::string& why) {
  if (why.empty()) {
    db_.RemoveText(KeyOf(table));
  } else {
    db_.PutText(KeyOf(table), why);
  }
  const WriterLock lock(mutex_);
  if (why.empty()) {
    by_table_.erase(table);
  } else {
    by_table_[table] = why;
  }
}

}  // namespace graphd::store
