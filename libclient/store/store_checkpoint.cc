// SPDX-License-Identifier: Apache-2.0
// Store: checkpoints, and tables that are not what they should be.
#include <algorithm>

#include "base/clock.h"
#include "base/file.h"
#include "base/strings.h"
#include "store/checkpoint/tables.h"
#include "store/store.h"

namespace graphd::store {
namespace {

constexpr const char* kTroublePrefix = "trouble/";
constexpr int kMaxPasses = 4;
constexpr double kShortPass = 0.5;  // seconds

std::string TroubleKey(uint32_t id) { return kTroublePrefix + std::to_string(id); }

}  // namespace

void Store::PrepareCheckpoint() {
  // Each pass has less to write than the one before, because fewer pages change meanwhile.
  for (int pass = 0; pass < kMaxPasses; pass++) {
    const Clock::time_point start = Clock::now();
    Cycle(/*at_once=*/true);
    if (SecondsSince(start) < kShortPass) return;
  }
}

std::unique_ptr<WriteBarrierHold> Store::HoldPushes(std::chrono::milliseconds limit) {
  return std::make_unique<WriteBarrierHold>(*gate_, limit);
}

std::vector<TableSpec> Store::WriteCheckpoint(const std::string& directory,
                                              const std::vector<std::string>& names,
                                              const WriteBarrierHold& hold) {
  std::vector<std::shared_ptr<Table>> tables;
  for (const std::string& name : names) {
    tables.push_back(FindTable(name));
    if (const std::string trouble = TroubleOf(*tables.back()); !trouble.empty()) {
      Throw(ErrorCode::kCorrupt, NamedTable(name), " can't be kept: ", trouble);
    }
  }
  MakeDirectories(directory);
  hold.CheckHeld();
  {
    const Hurry hurry(this);
    std::lock_guard lock(cycle_mutex_);
    WriteAll();
    db_.LinkTo(CheckpointPagesPath(directory));
  }
  hold.CheckHeld();
  std::vector<CheckpointTable> chosen;
  std::vector<TableSpec> specs;
  for (const std::shared_ptr<Table>& table : tables) {
    // After the pages: a state that came meanwhile is one of zeros.
    TableSpec spec = table->spec();
    spec.attributes = table->attributes();
    chosen.push_back({table->id(), spec, table->row_ids()});
    specs.push_back(std::move(spec));
  }
  WriteCheckpointTables(directory, chosen);
  SyncDirectory(DirName(directory));
  return specs;
}

std::string Store::TroubleOf(const Table& table) const {
  std::shared_lock lock(tables_mutex_);
  const auto found = trouble_.find(table.id());
  return found == trouble_.end() ? "" : found->second;
}

void Store::SetTrouble(const Table& table, const std::string& why) {
  std::lock_guard changing(specs_mutex_);
  PutTrouble(table.id(), why);
  db_.Flush();
}

void Store::PutTrouble(uint32_t id, const std::string& why) {
  if (!by_id_.contains(id)) return;  // it was dropped
  if (why.empty()) {
    db_.RemoveText(TroubleKey(id));
  } else {
    db_.PutText(TroubleKey(id), why);
  }
  std::unique_lock lock(tables_mutex_);
  if (why.empty()) {
    trouble_.erase(id);
  } else {
    trouble_[id] = why;
  }
}

void Store::LoadTrouble() {
  for (const auto& [id, table] : by_id_) {
    if (const auto why = db_.GetText(TroubleKey(id))) trouble_[id] = *why;
  }
}

}  // namespace graphd::store
