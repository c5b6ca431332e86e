// SPDX-License-Identifier: Apache-2.0
#include "store/table_catalog.h"

#include <algorithm>
#include <set>
#include <utility>

#include "base/failure.h"
#include "base/strings.h"
#include "store/rows/store_keys.h"

namespace graphd::store {
namespace {

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

TableCatalog::TableCatalog(const StoreOptions& options, PageDb& db, MemoryBudget& memory,
                           PersistentArena* arena)
    : options_(options),
      db_(db),
      memory_(memory),
      arena_(arena),
      next_id_(ReadState().next_id),
      troubles_(db) {}

std::shared_ptr<Table> TableCatalog::Open(const TableSpec& spec, bool* created) {
  spec.Check();
  *created = false;
  const MutexLock changing(specs_mutex_);
  if (const auto found = by_name().find(spec.name); found != by_name().end()) {
    const std::string differences = Differences(found->second->spec(), spec);
    if (!differences.empty()) {
      Throw(ErrorCode::kInvalid, NamedTable(spec.name), " exists and differs: ", differences,
            ". Choose another name, or drop it first");
    }
    return found->second;
  }
  if (by_name().size() >= options_.max_tables) {
    Throw(ErrorCode::kOverloaded, "no ", NamedTable(spec.name), ": there are ", by_name().size(),
          " tables, which is the limit; drop tables that are no longer needed");
  }
  const uint32_t id = next_id_++;
  std::shared_ptr<Table> table;
  try {
    table = MakeTable(id, spec, /*kept=*/false);
    table->SetNew();
    {
      const MutexLock lock(state_mutex_);
      StoreState state = ReadState();
      state.next_id = next_id_;
      PutState(state);
    }
    // The description must be on the disk before the first push to the table can be logged.
    PutSpec(id, EncodeSpec(spec));
  } catch (...) {
    has_dropped_files_ = arena_ != nullptr;  // the table may have had some
    throw;
  }
  AddToMaps(table);
  *created = true;
  return table;
}

void TableCatalog::PutSpec(const Table& table, OptimizerState state,
                           const std::string& attributes) {
  if (!by_id().contains(table.id())) {
    Throw(ErrorCode::kNotFound, NamedTable(table.spec().name), " was dropped");
  }
  TableSpec spec = table.spec();
  spec.state = state;
  spec.attributes = attributes;
  PutSpec(table.id(), EncodeSpec(spec));
}

// Puts a description into RocksDB, and waits for the disk. If that fails, puts the former one back,
// now or later.
void TableCatalog::PutSpec(uint32_t id, const std::string& spec) {
  const std::string name = TableKey(id);
  PutFormerSpecs();
  former_specs_.insert_or_assign(name, db_.GetText(name));
  try {
    db_.PutText(name, spec);
    db_.Flush();
    former_specs_.erase(name);
  } catch (...) {
    LogFailure("a change of a tensor could not be undone yet", [this] {
      specs_mutex_.AssumeHeld();
      PutFormerSpecs();
    });
    throw;
  }
}

void TableCatalog::PutFormerSpecs() {
  while (!former_specs_.empty()) {
    const auto& [name, spec] = *former_specs_.begin();
    spec ? db_.PutText(name, *spec) : db_.RemoveText(name);
    former_specs_.erase(former_specs_.begin());
  }
}

void TableCatalog::RestoreSpecs() {
  const MutexLock lock(specs_mutex_);
  if (former_specs_.empty()) return;
  PutFormerSpecs();
  db_.Flush();
}

void TableCatalog::Flush() {
  {
    const MutexLock lock(specs_mutex_);
    PutFormerSpecs();
  }
  db_.Flush();
  const MutexLock lock(specs_mutex_);
  RemoveDroppedFiles();
}

// Removes the arena's files of tables that were dropped. If that fails, they are removed later.
void TableCatalog::RemoveDroppedFiles() noexcept {
  if (!has_dropped_files_) return;
  const bool removed = LogFailure("memory of tensors that were dropped is not freed yet", [this] {
    specs_mutex_.AssumeHeld();
    std::set<uint32_t> ids;
    for (const auto& [id, table] : by_id()) ids.insert(id);
    arena_->RemoveTablesExcept(ids);
  });
  has_dropped_files_ = !removed;
}

void TableCatalog::AddState(const std::shared_ptr<Table>& table, OptimizerState state) {
  const MutexLock lock(specs_mutex_);
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
  Arena::States states;
  const auto make = [&] { states = table->MakeStates(state); };
  arena_ != nullptr ? arena_->ReserveUndo(wanted.page_bytes(), make) : make();
  try {
    PutSpec(*table, state, table->attributes());
  } catch (...) {
    Table::Discard(states);
    throw;
  }
  try {
    table->AdoptStates(state, std::move(states));
  } catch (...) {
    PutSpec(*table, OptimizerState::kNone, table->attributes());
    throw;
  }
}

void TableCatalog::SetAttributes(const std::shared_ptr<Table>& table,
                                 const std::string& attributes) {
  const MutexLock lock(specs_mutex_);
  PutSpec(*table, table->spec().state, attributes);
  table->SetAttributes(attributes);
}

std::shared_ptr<Table> TableCatalog::Find(const std::string& name) const {
  const ReaderLock lock(tables_mutex_);
  const auto found = by_name_.find(name);
  if (found == by_name_.end()) Throw(ErrorCode::kNotFound, "there is no ", NamedTable(name));
  return found->second;
}

std::shared_ptr<Table> TableCatalog::FindById(uint32_t id) const {
  const ReaderLock lock(tables_mutex_);
  const auto found = by_id_.find(id);
  return found == by_id_.end() ? nullptr : found->second;
}

std::vector<std::shared_ptr<Table>> TableCatalog::All() const {
  const ReaderLock lock(tables_mutex_);
  std::vector<std::shared_ptr<Table>> all;
  for (const auto& [name, table] : by_name_) all.push_back(table);
  return all;
}

void TableCatalog::Drop(const Table& table) {
  const uint32_t id = table.id();
  const std::string& name = table.spec().name;
  const MutexLock changing(specs_mutex_);
  if (!by_id().contains(id)) {  // another call has dropped it
    Throw(ErrorCode::kNotFound, "there is no ", NamedTable(name), " any more");
  }
  // The disk must get, with the next flush, what this process serves: while RocksDB had removals of
  // a table that is still used, pushes to it would be accepted and lost. So the table is removed
  // from the maps before the flush, which may fail.
  PutFormerSpecs();
  db_.RemoveTable(id, {TableKey(id), TroubleRegister::KeyOf(id)});
  {
    const WriterLock lock(tables_mutex_);
    by_name_.erase(name);
    by_id_.erase(id);
  }
  troubles_.Forget(id);
  has_dropped_files_ = arena_ != nullptr;
  try {
    db_.Flush();
  } catch (const Error& error) {
    Throw(error.code(), NamedTable(name),
          " was dropped, but would be there again after a crash, because this is not on the disk "
          "yet: ",
          error.what());
  }
  // Until now, a crash would have brought the table back, which then needs its memory.
  RemoveDroppedFiles();
}

void TableCatalog::SetTroubles(const std::map<uint32_t, std::string>& troubles) {
  const MutexLock lock(specs_mutex_);
  for (const auto& [id, why] : troubles) {
    if (by_id().contains(id)) troubles_.Set(id, why);
  }
  if (troubles.empty()) return;
  PutFormerSpecs();
  db_.Flush();
}

StoreState TableCatalog::StateIn(const PageDb& db) {
  return DecodeState(db.GetText(kStateKey).value_or(EncodeState({})));
}

void TableCatalog::WriteState(StoreState& state) {
  const MutexLock lock(state_mutex_);
  state.next_id = next_id_;
  PutState(state);
}

void TableCatalog::PutState(const StoreState& state) {
  std::string text = EncodeState(state);
  if (text == put_state_) return;
  put_state_.clear();
  db_.PutText(kStateKey, text);
  put_state_ = std::move(text);
}

// Returns the ids of all tables that RocksDB describes, in ascending order.
std::set<uint32_t> TableCatalog::StoredIds() const {
  std::set<uint32_t> ids;
  for (const std::string& name : db_.TextNames(kTablePrefix)) {
    ids.insert(static_cast<uint32_t>(ParseInt(name.substr(std::string(kTablePrefix).size()),
                                              "number of a table", 1, UINT32_MAX)));
  }
  return ids;
}

std::vector<std::pair<uint32_t, TableSpec>> TableCatalog::StoredSpecs() const {
  std::map<std::string, std::pair<uint32_t, TableSpec>> last;  // by the name of the table
  for (const uint32_t id : StoredIds()) {
    TableSpec spec = DecodeSpec(*db_.GetText(TableKey(id)));
    const std::string name = spec.name;
    last.insert_or_assign(name, std::pair(id, std::move(spec)));
  }
  std::vector<std::pair<uint32_t, TableSpec>> all;
  for (auto& [name, entry] : last) all.push_back(std::move(entry));
  std::ranges::sort(all, {}, [](const auto& entry) { return entry.first; });
  return all;
}

TableSpec TableCatalog::SpecOf(const Table& table) {
  TableSpec spec = table.spec();
  spec.attributes = table.attributes();
  return spec;
}

std::shared_ptr<Table> TableCatalog::Add(uint32_t id, const TableSpec& spec, bool kept) {
  std::shared_ptr<Table> table = MakeTable(id, spec, kept);
  const MutexLock changing(specs_mutex_);
  AddToMaps(table);
  return table;
}

void TableCatalog::LoadTroubles() {
  const MutexLock changing(specs_mutex_);
  for (const auto& [id, table] : by_id()) troubles_.Load(id);
}

void TableCatalog::RemoveOthers() {
  const MutexLock changing(specs_mutex_);
  for (const uint32_t id : StoredIds()) {
    if (!by_id().contains(id)) db_.RemoveTable(id, {TableKey(id), TroubleRegister::KeyOf(id)});
  }
  has_dropped_files_ = arena_ != nullptr;
  RemoveDroppedFiles();
}

std::shared_ptr<Table> TableCatalog::MakeTable(uint32_t id, TableSpec spec, bool kept) {
  Table::RowIds ids;
  if (spec.first_id == -1 && options_.row_ids) ids = options_.row_ids(spec);
  if (arena_ == nullptr) {
    return std::make_shared<Table>(id, std::move(spec), db_, memory_, std::move(ids));
  }
  std::shared_ptr<Table> table;
  arena_->ReserveUndo(spec.page_bytes(), [&] {
    const Arena::Files files = arena_->FilesOf(id, kept);
    table = std::make_shared<Table>(id, spec, db_, memory_, std::move(ids), &files);
  });
  return table;
}

void TableCatalog::AddToMaps(const std::shared_ptr<Table>& table) {
  const WriterLock lock(tables_mutex_);
  by_name_[table->spec().name] = table;
  by_id_[table->id()] = table;
}

}  // namespace graphd::store
