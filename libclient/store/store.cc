// SPDX-License-Identifier: Apache-2.0
#include "store/store.h"

#include <algorithm>
#include <chrono>
#include <future>

#include "base/file.h"
#include "base/log.h"
#include "base/strings.h"
#include "store/rows/store_keys.h"

namespace graphd::store {
namespace {

// From one cycle of write-back to the next.
constexpr double kUsualSeconds = 30, kLastingSeconds = 300;
constexpr uint64_t kBatchBytes = uint64_t{4} << 20;  // of pages, written together

std::string Differences(const TableSpec& is, const TableSpec& wanted) {
  std::vector<std::string> all;
  const auto compare = [&](const char* what, const auto& a, const auto& b) {
    if (a != b) all.push_back(StrCat(what, " is ", a, ", not ", b));
  };
  const auto shape = [](const TableSpec& spec) {
    std::vector<std::string> extents;
    for (const int64_t extent : spec.row_shape) extents.push_back(std::to_string(extent));
    return "[" + Join(extents, ", ") + "]";
  };
  compare("dtype", std::string(DTypeName(is.dtype)), std::string(DTypeName(wanted.dtype)));
  compare("shape of a row", shape(is), shape(wanted));
  compare("number of rows here", is.rows, wanted.rows);
  compare("first id here", is.first_id, wanted.first_id);
  if (wanted.state == OptimizerState::kNone) return Join(all, "; ");
  compare("optimiser's state", std::string(OptimizerStateName(is.state)),
          std::string(OptimizerStateName(wanted.state)));
  return Join(all, "; ");
}

}  // namespace

const char* DurabilityName(Durability durability) noexcept {
  switch (durability) {
    case Durability::kNone:
      return "none";
    case Durability::kProcess:
      return "process";
    case Durability::kPower:
      return "power";
  }
  return "?";
}

Durability DurabilityFromName(const std::string& name) {
  for (const Durability each : {Durability::kNone, Durability::kProcess, Durability::kPower}) {
    if (name == DurabilityName(each)) return each;
  }
  Throw(ErrorCode::kInvalid, "durability is none, process or power, not '", name, "'");
}

Store::Hurry::Hurry(Store* store) : store_(store) {
  if (store_ == nullptr) return;
  {
    std::lock_guard lock(store_->mutex_);
    store_->in_hurry_++;
  }
  store_->wake_.notify_all();
}

Store::Hurry::~Hurry() {
  if (store_ != nullptr) store_->in_hurry_--;
}

Store::~Store() {
  collapser_.reset();
  {
    std::lock_guard lock(mutex_);
    stopping_ = true;
  }
  wake_.notify_all();
  pipeline_->Stop();  // a cycle that waits for pushes on a full disk goes on
  write_back_.join();
  try {
    Cycle(/*at_once=*/true);
    if (persistent_ != nullptr) persistent_->Remove();
  } catch (const Error& error) {
    LogError("not everything could be written back: ", error.what());
  }
  pipeline_.reset();
}

std::shared_ptr<Table> Store::OpenTable(const TableSpec& spec) {
  spec.Check();
  std::lock_guard changing(specs_mutex_);
  if (const auto found = by_name_.find(spec.name); found != by_name_.end()) {
    const std::string differences = Differences(found->second->spec(), spec);
    if (!differences.empty()) {
      Throw(ErrorCode::kInvalid, NamedTable(spec.name), " exists and is another: ", differences,
            ". Choose another name, or drop it first");
    }
    return found->second;
  }
  if (by_name_.size() >= options_.max_tables) {
    Throw(ErrorCode::kOverloaded, "no ", NamedTable(spec.name), ": there are ", by_name_.size(),
          " tables, as many as there may be; drop those that nobody needs");
  }
  const uint32_t id = next_id_++;
  const std::shared_ptr<Table> table = MakeTable(id, spec, /*kept=*/false);
  // Before the first push of it can be logged.
  db_.PutText(TableKey(id), EncodeSpec(spec));
  {
    std::lock_guard lock(state_mutex_);
    StoreState state = DecodeState(db_.GetText(kStateKey).value_or(EncodeState({})));
    state.next_id = next_id_;
    db_.PutText(kStateKey, EncodeState(state));
  }
  db_.Flush();
  std::unique_lock lock(tables_mutex_);
  AddTable(table);
  return table;
}

// The caller holds specs_mutex_.
void Store::PutSpec(const Table& table, OptimizerState state, const std::string& attributes) {
  if (!by_id_.contains(table.id())) {
    Throw(ErrorCode::kNotFound, NamedTable(table.spec().name), " was dropped");
  }
  TableSpec spec = table.spec();
  spec.state = state;
  spec.attributes = attributes;
  db_.PutText(TableKey(table.id()), EncodeSpec(spec));
  db_.Flush();
}

void Store::AddState(const std::shared_ptr<Table>& table, OptimizerState state) {
  std::lock_guard lock(specs_mutex_);
  const TableSpec& spec = table->spec();
  if (spec.state == state) return;
  TableSpec wanted = spec;
  wanted.state = state;
  wanted.Check();
  if (spec.state != OptimizerState::kNone) {
    Throw(ErrorCode::kInvalid, NamedTable(spec.name), " has the state of '",
          OptimizerStateName(spec.state), "' and can't get that of '", OptimizerStateName(state),
          "'; use the optimiser that it was trained with, or another table");
  }
  if (persistent_ != nullptr) persistent_->ReserveUndo(wanted.page_bytes());
  Arena::States states = table->MakeStates(state);
  PutSpec(*table, state, table->attributes());
  table->AdoptStates(state, std::move(states));
}

void Store::SetAttributes(const std::shared_ptr<Table>& table, const std::string& attributes) {
  std::lock_guard lock(specs_mutex_);
  PutSpec(*table, table->spec().state, attributes);
  table->SetAttributes(attributes);
}

std::shared_ptr<Table> Store::FindTable(const std::string& name) const {
  std::shared_lock lock(tables_mutex_);
  const auto found = by_name_.find(name);
  if (found == by_name_.end()) Throw(ErrorCode::kNotFound, "there is no ", NamedTable(name));
  return found->second;
}

std::vector<std::shared_ptr<Table>> Store::tables() const {
  std::shared_lock lock(tables_mutex_);
  std::vector<std::shared_ptr<Table>> all;
  for (const auto& [name, table] : by_name_) all.push_back(table);
  return all;
}

void Store::DropTable(const std::string& name) {
  const std::shared_ptr<Table> table = FindTable(name);
  const Hurry hurry(this);
  std::lock_guard cycle(cycle_mutex_);  // or it would write the table's pages again
  std::lock_guard changing(specs_mutex_);
  if (!by_id_.contains(table->id())) {  // another call has dropped it
    Throw(ErrorCode::kNotFound, "there is no ", NamedTable(name), " any more");
  }
  // What may fail comes first: a table that is half dropped would take pushes and lose them.
  PutTrouble(table->id(), "");
  db_.RemoveText(TableKey(table->id()));
  db_.RemoveTable(table->id());
  db_.Flush();
  {
    std::unique_lock lock(tables_mutex_);
    by_name_.erase(name);
    by_id_.erase(table->id());
  }
  if (persistent_ != nullptr) persistent_->RemoveTable(table->id());
}

void Store::Submit(const std::shared_ptr<Table>& table, Push push, Pipeline::Done done) {
  if (const std::string trouble = TroubleOf(*table);
      !trouble.empty() && push.rule.kind != UpdateKind::kLoad) {
    Throw(ErrorCode::kCorrupt, NamedTable(table->spec().name), " can't be written: ", trouble,
          ". Its rows can be read; restore a checkpoint, or drop it");
  }
  push.table = table->id();
  gate_->Submit(table, push, std::move(done));
}

void Store::Apply(const std::shared_ptr<Table>& table, const Push& push) {
  std::promise<void> done;
  Submit(table, push, [&](const Error* error) {
    if (error == nullptr) {
      done.set_value();
    } else {
      done.set_exception(std::make_exception_ptr(*error));
    }
  });
  done.get_future().get();
}

void Store::WriteBack() { Cycle(/*at_once=*/true); }

void Store::Cycle(bool at_once) {
  const Hurry hurry(at_once ? this : nullptr);  // also a cycle that is under way
  std::lock_guard lock(cycle_mutex_);
  WriteAll();
}

void Store::WriteAll() {
  StoreState state;
  state.lsn = pipeline_->Cut(&state.clients);
  // A page must not be in RocksDB with a push that the log does not have: the push would be sent
  // again, and applied twice.
  pipeline_->WaitDone(state.lsn);
  for (const std::shared_ptr<Table>& table : tables()) WriteTable(*table);
  {
    std::lock_guard lock(state_mutex_);
    state.next_id = next_id_;
    db_.PutText(kStateKey, EncodeState(state));
  }
  db_.Flush();
  if (persistent_ != nullptr) persistent_->WriteState(state);
  pipeline_->TruncateLog(state.lsn);
}

void Store::WriteTable(Table& table) {
  const uint64_t batch =
      memory_.bounded() ? std::min(kBatchBytes, options_.memory_bytes / 64) : kBatchBytes;
  const size_t most = std::max<size_t>(batch / std::max<size_t>(table.page_bytes(), 1), 1);
  std::vector<std::vector<std::byte>> bytes(most);
  std::vector<PageDb::Page> pages;
  const uint64_t end = table.arena().num_pages();
  const auto begin = std::chrono::steady_clock::now();
  uint64_t written = 0;
  for (uint64_t page = table.NextDirty(0); page < end;) {
    pages.clear();
    uint64_t lsn = 0, size = 0;
    for (; page < end && pages.size() < most; page = table.NextDirty(page + 1)) {
      std::vector<std::byte>& copy = bytes[pages.size()];
      const uint64_t page_lsn = table.TakePage(page, copy);
      pages.push_back({table.id(), page, page_lsn, copy});
      lsn = std::max(lsn, page_lsn);
      size += copy.size();
    }
    try {
      // While it recovers, all that was applied is in the log.
      if (pipeline_ != nullptr) pipeline_->WaitDone(lsn);
      db_.PutPages(pages);
    } catch (const Error&) {
      for (const PageDb::Page& each : pages) table.PutBack(each.page);
      throw;
    }
    for (const PageDb::Page& each : pages) table.Written(each.page);
    memory_.Changed();
    written += size;
    if (in_hurry_ > 0 || memory_wanted_ || pipeline_->log_bytes() > options_.max_log_bytes / 2)
      continue;
    const std::chrono::duration<double> due(static_cast<double>(written) /
                                            static_cast<double>(options_.write_back_rate));
    std::unique_lock lock(mutex_);
    wake_.wait_until(lock, begin + std::chrono::duration_cast<std::chrono::nanoseconds>(due),
                     [this] { return stopping_ || in_hurry_ > 0 || memory_wanted_; });
  }
}

void Store::RunWriteBack() {
  using SteadyClock = std::chrono::steady_clock;
  const auto pause = std::chrono::duration_cast<SteadyClock::duration>(
      std::chrono::duration<double>(options_.write_back_seconds != 0 ? options_.write_back_seconds
                                    : persistent_ != nullptr         ? kLastingSeconds
                                                                     : kUsualSeconds));
  auto next = SteadyClock::now() + pause;
  std::unique_lock lock(mutex_);
  for (;;) {
    // A cycle that failed is tried again in its turn.
    const auto early = [this] { return log_half_full_ && write_back_trouble_.empty(); };
    wake_.wait_until(lock, next, [&] { return stopping_ || memory_wanted_ || early(); });
    if (stopping_) return;
    if (!early() && SteadyClock::now() < next) {
      memory_wanted_ = false;
      lock.unlock();
      Clean();
      lock.lock();
      continue;
    }
    lock.unlock();
    log_half_full_ = false;  // what comes meanwhile may need another cycle
    std::string trouble;
    try {
      Cycle(/*at_once=*/false);
    } catch (const Error& error) {
      trouble = error.what();
    }
    SayTrouble(trouble);
    next = SteadyClock::now() + pause;
    lock.lock();
  }
}

// Not once for each push: the flag stays until a cycle begins.
void Store::WriteBackSoon() {
  if (log_half_full_) return;
  {
    std::lock_guard lock(mutex_);
    log_half_full_ = true;
  }
  wake_.notify_all();
}

void Store::AskToClean() {
  if (pipeline_ == nullptr) return Clean();  // it recovers
  {
    std::lock_guard lock(mutex_);
    memory_wanted_ = true;
  }
  wake_.notify_all();
}

// Writes what changed, so that it can go from memory; without the flush that a cycle ends with.
void Store::Clean() {
  try {
    const Hurry hurry(this);
    std::lock_guard lock(cycle_mutex_);
    for (const std::shared_ptr<Table>& table : tables()) WriteTable(*table);
    memory_.CleanDone(nullptr);
  } catch (const Error& error) {
    SayTrouble(error.what());
    memory_.CleanDone(&error);
  }
}

std::string Store::trouble() const {
  const std::string of_pushes = pipeline_->trouble();
  if (!of_pushes.empty()) return of_pushes;
  std::lock_guard lock(mutex_);
  return write_back_trouble_;
}

// Once, not for each read that waits for memory.
void Store::SayTrouble(const std::string& why) {
  std::lock_guard lock(mutex_);
  if (why == write_back_trouble_) return;
  write_back_trouble_ = why;
  if (why.empty()) {
    LogInfo("write-back goes on");
  } else {
    LogError("write-back: ", why, "; the changes stay in memory and in the log");
  }
}

Store::Status Store::status() const {
  Status status;
  status.trouble = trouble();
  if (persistent_ != nullptr) status.memory = persistent_->directory();
  status.last_lsn = pipeline_->Cut(nullptr);
  status.replayed = replayed_;
  status.log_bytes = pipeline_->log_bytes();
  status.page_bytes = db_.bytes();
  for (const std::shared_ptr<Table>& table : tables()) {
    status.resident_bytes += table->resident_bytes();
  }
  if (memory_.bounded()) status.resident_bytes += db_.memory();
  return status;
}

}  // namespace graphd::store
