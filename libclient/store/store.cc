// SPDX-License-Identifier: Apache-2.0
#include "store/store.h"

#include <algorithm>
#include <chrono>
#include <future>
#include <nlohmann/json.hpp>

#include "base/file.h"
#include "base/log.h"
#include "base/strings.h"

namespace graphd::store {
namespace {

constexpr const char* kTablePrefix = "table/";
constexpr const char* kState = "state";
constexpr size_t kBatchBytes = size_t{4} << 20;  // of pages, written together

std::string TableKey(uint32_t id) { return kTablePrefix + std::to_string(id); }

// What a flush makes true together with the pages.
struct State {
  uint64_t lsn = 0;  // every push up to it is in the pages
  uint32_t next_id = 1;
  std::map<ClientId, Pipeline::Client> clients;
};

std::string EncodeState(const State& state) {
  nlohmann::json clients = nlohmann::json::array();
  for (const auto& [id, client] : state.clients) {
    clients.push_back({id.high, id.low, client.sequence, client.lsn});
  }
  return nlohmann::json({{"lsn", state.lsn}, {"next_id", state.next_id}, {"clients", clients}})
      .dump();
}

State DecodeState(const std::string& text) {
  try {
    const nlohmann::json json = nlohmann::json::parse(text);
    State state;
    state.lsn = json.at("lsn");
    state.next_id = json.at("next_id");
    for (const nlohmann::json& client : json.at("clients")) {
      state.clients[{client.at(0), client.at(1)}] = {client.at(2), client.at(3)};
    }
    return state;
  } catch (const nlohmann::json::exception& error) {
    Throw(ErrorCode::kCorrupt, "the state of the store is damaged: ", error.what());
  }
}

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

Store::Store(StoreOptions options)
    : options_(std::move(options)),
      db_(options_.directory + "/pages"),
      memory_(options_.memory_bytes) {
  memory_.SetCleaner([this] { AskToClean(); });
  Recover();
  write_back_ = std::thread([this] { RunWriteBack(); });
}

Store::~Store() {
  {
    std::lock_guard lock(mutex_);
    stopping_ = true;
  }
  wake_.notify_all();
  pipeline_->Stop();  // a cycle that waits for pushes on a full disk goes on
  write_back_.join();
  try {
    Cycle(/*at_once=*/true);
  } catch (const Error& error) {
    LogError("not everything could be written back: ", error.what());
  }
  pipeline_.reset();
}

std::shared_ptr<Table> Store::MakeTable(uint32_t id, TableSpec spec) {
  Table::RowIds ids;
  if (spec.first_id == -1 && options_.row_ids) ids = options_.row_ids(spec);
  return std::make_shared<Table>(id, std::move(spec), db_, memory_, std::move(ids));
}

void Store::AddTable(const std::shared_ptr<Table>& table) {
  by_name_[table->spec().name] = table;
  by_id_[table->id()] = table;
}

void Store::Recover() {
  const State state = DecodeState(db_.GetText(kState).value_or(EncodeState({})));
  next_id_ = state.next_id;
  for (const std::string& name : db_.TextNames(kTablePrefix)) {
    const auto id = static_cast<uint32_t>(ParseInt(name.substr(std::string(kTablePrefix).size()),
                                                   "number of a table", 1, UINT32_MAX));
    const auto table = MakeTable(id, DecodeSpec(*db_.GetText(name)));
    AddTable(table);
    table->LoadAll([&](uint64_t page, const std::string& why) {
      damage_.push_back(StrCat("table '", table->spec().name, "': page ", page, ": ", why));
    });
  }
  LoadTrouble();
  std::map<uint32_t, std::string> lost;  // by table
  std::map<ClientId, Pipeline::Client> clients = state.clients;
  uint64_t last_lsn = state.lsn;
  log_ = std::make_unique<PushLog>(
      options_.directory + "/log",
      PushLog::Options{options_.log_segment_bytes, options_.durability == Durability::kPower});
  // Or the names of pages/ and log/ might be lost with power, and all that is in them.
  SyncDirectory(options_.directory);
  SyncDirectory(DirName(options_.directory));
  Table::Scratch scratch;
  const PushLog::Tail tail = log_->Recover([&](const Push& push) {
    last_lsn = std::max(last_lsn, push.lsn);
    if (push.lsn > state.lsn) clients[push.client] = {push.sequence, push.lsn};
    const auto found = by_id_.find(push.table);
    if (found == by_id_.end()) return;  // it was dropped
    Table& table = *found->second;
    try {
      table.CheckPush(push);
      table.Touch(push.rows);
      Replay(table, push, scratch);
    } catch (const Error& error) {
      damage_.push_back(StrCat("push ", push.lsn, " was not replayed: ", error.what()));
      lost[push.table] = damage_.back();
      return;
    }
    replayed_++;
  });
  log_->AdvanceTo(std::max(last_lsn, tail.lost_after));
  if (tail.lost_after != 0) {
    damage_.push_back(StrCat(tail.path, ": damaged at byte ", tail.offset, "; pushes ",
                             last_lsn + 1, " to ", tail.lost_after, " are lost"));
    for (const auto& [id, table] : by_id_) lost.emplace(id, damage_.back());
  }
  // Before the log is truncated, after which nothing else would tell.
  for (const auto& [id, why] : lost) PutTrouble(id, why);
  if (!lost.empty()) db_.Flush();
  const bool logs = options_.durability != Durability::kNone;
  pipeline_ = std::make_unique<Pipeline>(
      logs ? log_.get() : nullptr,
      Pipeline::Options{options_.threads, options_.max_pending_bytes, options_.max_log_bytes,
                        [this] { WriteBackSoon(); }},
      log_->last_lsn(), std::move(clients));
  gate_ = std::make_unique<PushGate>(*pipeline_, options_.max_pending_bytes);
  for (const std::string& what : damage_) LogError(what);
  if (replayed_ != 0) LogInfo("replayed ", replayed_, " pushes");
  if (tail.lost_after != 0) {
    Cycle(/*at_once=*/true);
    log_->SetAside();
  } else if (!logs) {  // it would be replayed over what comes now
    Cycle(/*at_once=*/true);
    log_->Clear();
  }
}

// Nobody else is there. Where memory is bounded, its pages need not all fit.
void Store::Replay(Table& table, const Push& push, Table::Scratch& scratch) {
  const RowOrder order(push.rows, table.spec().rows);
  for (size_t lane = 0; lane < RowOrder::kLanes; lane++) {
    std::span<const uint32_t> picks = order.lane(lane);
    while (!picks.empty()) {
      size_t count = picks.size();
      if (memory_.bounded()) {
        const auto page_of = [&](uint32_t pick) { return push.rows[pick] / kPageRows; };
        for (count = 1; count < picks.size() && page_of(picks[count]) == page_of(picks[0]);)
          count++;
        table.Touch({&push.rows[picks[0]], 1});
      }
      table.Apply(push, picks.first(count), scratch);
      picks = picks.subspan(count);
    }
  }
}

std::shared_ptr<Table> Store::OpenTable(const TableSpec& spec) {
  spec.Check();
  std::unique_lock lock(tables_mutex_);
  if (const auto found = by_name_.find(spec.name); found != by_name_.end()) {
    const std::string differences = Differences(found->second->spec(), spec);
    if (!differences.empty()) {
      Throw(ErrorCode::kInvalid, "table '", spec.name, "' exists and is another: ", differences,
            ". Choose another name, or drop it first");
    }
    return found->second;
  }
  if (by_name_.size() >= options_.max_tables) {
    Throw(ErrorCode::kOverloaded, "no table '", spec.name, "': there are ", by_name_.size(),
          " tables, as many as there may be; drop those that nobody needs");
  }
  const uint32_t id = next_id_++;
  const std::shared_ptr<Table> table = MakeTable(id, spec);
  // Before the first push of it can be logged.
  db_.PutText(TableKey(id), EncodeSpec(spec));
  State state = DecodeState(db_.GetText(kState).value_or(EncodeState({})));
  state.next_id = next_id_;
  db_.PutText(kState, EncodeState(state));
  db_.Flush();
  AddTable(table);
  return table;
}

// The caller holds specs_mutex_.
void Store::PutSpec(const Table& table, OptimizerState state, const std::string& attributes) {
  std::shared_lock lock(tables_mutex_);
  if (!by_id_.contains(table.id())) {
    Throw(ErrorCode::kNotFound, "table '", table.spec().name, "' was dropped");
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
    Throw(ErrorCode::kInvalid, "table '", spec.name, "' has the state of '",
          OptimizerStateName(spec.state), "' and can't get that of '", OptimizerStateName(state),
          "'; use the optimiser that it was trained with, or another table");
  }
  HugeArray<float> states = table->MakeStates(state);
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
  if (found == by_name_.end()) Throw(ErrorCode::kNotFound, "there is no table '", name, "'");
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
  std::unique_lock lock(tables_mutex_);
  // What may fail comes first: a table that is half dropped would take pushes and lose them.
  PutTrouble(table->id(), "");
  db_.RemoveText(TableKey(table->id()));
  db_.RemoveTable(table->id());
  db_.Flush();
  by_name_.erase(name);
  by_id_.erase(table->id());
}

void Store::Submit(const std::shared_ptr<Table>& table, Push push, Pipeline::Done done) {
  if (const std::string trouble = TroubleOf(*table);
      !trouble.empty() && push.rule.kind != UpdateKind::kLoad) {
    Throw(ErrorCode::kCorrupt, "table '", table->spec().name, "' can't be written: ", trouble,
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
  State state;
  state.lsn = pipeline_->Cut(&state.clients);
  // A page must not be in RocksDB with a push that the log does not have: the push would be sent
  // again, and applied twice.
  if (!pipeline_->WaitDone(state.lsn)) Throw(ErrorCode::kIo, pipeline_->trouble());
  for (const std::shared_ptr<Table>& table : tables()) WriteTable(*table);
  {
    std::shared_lock tables_lock(tables_mutex_);
    state.next_id = next_id_;
    db_.PutText(kState, EncodeState(state));
  }
  db_.Flush();
  pipeline_->TruncateLog(state.lsn);
}

void Store::WriteTable(Table& table) {
  const size_t most = std::max<size_t>(kBatchBytes / std::max<size_t>(table.page_bytes(), 1), 1);
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
      if (pipeline_ != nullptr && !pipeline_->WaitDone(lsn)) {
        Throw(ErrorCode::kIo, pipeline_->trouble());
      }
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
      std::chrono::duration<double>(options_.write_back_seconds));
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
      LogError("write-back: ", trouble, "; the changes stay in memory and in the log");
    }
    next = SteadyClock::now() + pause;
    lock.lock();
    write_back_trouble_ = trouble;
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
    LogError("write-back: ", error.what(), "; the changes stay in memory and in the log");
    memory_.CleanDone(&error);
  }
}

Store::Status Store::status() const {
  Status status;
  status.trouble = pipeline_->trouble();
  {
    std::lock_guard lock(mutex_);
    if (status.trouble.empty()) status.trouble = write_back_trouble_;
  }
  status.last_lsn = pipeline_->Cut(nullptr);
  status.replayed = replayed_;
  status.log_bytes = pipeline_->log_bytes();
  status.page_bytes = db_.bytes();
  for (const std::shared_ptr<Table>& table : tables()) {
    status.resident_bytes += table->resident_bytes();
  }
  return status;
}

}  // namespace graphd::store
