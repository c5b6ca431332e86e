// SPDX-License-Identifier: Apache-2.0
#include "store/trouble_register.h"

#include <optional>

namespace graphd::store {
namespace {

std::string TroubleKey(uint32_t table) { return "trouble/" + std::to_string(table); }

}  // namespace

void TroubleRegister::Load(uint32_t table) {
  const std::optional<std::string> why = db_.GetText(TroubleKey(table));
  if (!why) return;
  const WriterLock lock(mutex_);
  by_table_[table] = *why;
}

std::string TroubleRegister::Find(uint32_t table) const {
  const ReaderLock lock(mutex_);
  const auto found = by_table_.find(table);
  return found == by_table_.end() ? "" : found->second;
}

void TroubleRegister::Set(uint32_t table, const std::string& why) {
  if (why.empty()) {
    db_.RemoveText(TroubleKey(table));
  } else {
    db_.PutText(TroubleKey(table), why);
  }
  const WriterLock lock(mutex_);
  if (why.empty()) {
    by_table_.erase(table);
  } else {
    by_table_[table] = why;
  }
}

}  // namespace graphd::store
