// SPDX-License-Identifier: Apache-2.0
#include "store/store.h"

#include <algorithm>
#include <future>
#include <utility>

#include "base/clock.h"
#include "base/directory.h"
#include "base/failure.h"
#include "base/file.h"
#include "base/log.h"
#include "base/strings.h"
#include "store/checkpoint/tables.h"
#include "store/rows/memory_dir.h"
#include "store/store_recovery.h"

namespace graphd::store {
namespace {

// The maximum number of passes of PrepareCheckpoint, which also ends after a short pass.
constexpr int kMaxPasses = 4;
constexpr double kShortPass = 0.5;  // seconds

// Returns the part of the memory budget that buffers pages being written to the disk.
uint64_t BufferBytes(const StoreOptions& options) { return options.memory_bytes / 8; }

// Writes the rows that an earlier process left in memory to the disk, unless this store will take
// that memory over. Returns the options unchanged.
StoreOptions WithoutKeptMemory(StoreOptions options) {
  if (options.wants_persistent_arena() || !FileExists(MemoryName::PathIn(options.directory))) {
    return options;
  }
  StoreOptions before = options;
  before.durability = Durability::kProcess;
  before.memory_bytes = 0;
  before.next_process_follows = [] { return false; };
  if (before.memory_dir.empty()) before.memory_dir = kDefaultMemoryDir;
  { const Store store(std::move(before)); }
  // If the memory is still there, this store must not start: it would change the rows on the disk,
  // and a later process would take over the outdated rows in memory.
  if (FileExists(MemoryName::PathIn(options.directory))) {
    Throw(ErrorCode::kIo, options.directory, ": not all rows of its last server could be moved to ",
          "the disk, see the log; mend that, or start with the options that this server had");
  }
  return options;
}

// Finds or creates the memory that survives the process, or returns null if the options want none.
// If somebody has removed the memory of the last server, so that acknowledged pushes are lost, sets
// `removed` to its path.
std::unique_ptr<PersistentArena> OpenArena(const StoreOptions& options, const PageDb& db,
                                           std::string* removed) {
  if (!options.wants_persistent_arena()) {
    PersistentArena::RemoveLeft(options.directory);  // its rows would be outdated later
    return nullptr;
  }
  PersistentArena::Gone gone;
  const StoreState stored = TableCatalog::StateIn(db);
  auto found = PersistentArena::Find(options.directory, options.threads, &gone, &stored);
  if (found != nullptr) return found;
  if (gone.removed) {
    *removed = gone.directory;
  } else if (!gone.directory.empty()) {
    LogWarning(options.directory, ": the memory of its last server, ", gone.directory,
               ", is gone; was the machine restarted, or the tmpfs unmounted? Tables are as of the "
               "last write-back");
  }
  return PersistentArena::Make(options.memory_dir, options.directory, options.threads);
}

}  // namespace

Store::Store(StoreOptions options)
    : options_(WithoutKeptMemory(std::move(options))),
      db_(options_.directory + "/pages", PageDb::Mode::kReadWrite, BufferBytes(options_)),
      memory_(options_.memory_bytes - BufferBytes(options_)),
      arena_(OpenArena(options_, db_, &removed_memory_)),
      catalog_(options_, db_, memory_, arena_.get()),
      write_back_(options_, db_, memory_, catalog_, arena_.get()) {
  memory_.SetCleaner([this] { write_back_.RequestClean(); });
  StoreRecovery recovery(options_, memory_, arena_.get(), catalog_, removed_memory_);
  recovery.Run();
  log_ = recovery.TakeLog();
  StartPipeline(recovery.TakeClients(), recovery.trim_bytes());
  damage_ = recovery.damage();
  replayed_ = recovery.replayed();
  for (const std::string& what : damage_) LogError(what);
  if (arena_ != nullptr && arena_->taken_over()) {
    LogInfo("took over the memory of tensors of an earlier process, ", arena_->directory());
  }
  if (replayed_ != 0) LogInfo("replayed ", replayed_, " pushes");
  if (recovery.must_write_back()) {
    write_back_.RunCycle();
    recovery.RetireReplayedLog(*log_);
  }
  if (arena_ != nullptr) {
    if (!arena_->taken_over()) {
      StoreState now;
      now.lsn = pipeline_->Snapshot(&now.clients);
      arena_->WriteState(now);
    }
    // If the pipeline has failed, write-back has moved the rows to the disk and removed the name of
    // the memory, which must stay removed.
    if (!pipeline_->failed()) arena_->Announce();
  } else {
    // If this file exists, it names memory that no longer exists. The recovery has stored the loss
    // as trouble of the tables.
    RemoveFile(MemoryName::PathIn(options_.directory));
  }
  if (!memory_.bounded()) {
    collapser_.emplace([this] { return tables(); });
    preparer_.emplace();
  }
  write_back_.Start();  // last, because its thread uses the other members
}

Store::~Store() {
  preparer_.reset();
  collapser_.reset();
  write_back_.RequestStop();
  db_.StopWaiting();
  pipeline_->Stop();  // lets a cycle go on that waits for pushes while the disk is full
  write_back_.Join();
  LogFailure("not everything could be written back", [this] {
    write_back_.RunCycle();
    if (arena_ == nullptr) return;
    if (options_.next_process_follows() && write_back_.LeftMemoryIsGood()) {
      arena_->Leave(catalog_.ReadState());
    } else {
      arena_->Remove();
    }
  });
}

void Store::StartPipeline(ClientTable clients, uint64_t trim_bytes) {
  Pipeline::Options options;
  options.threads = options_.threads;
  options.max_pending_bytes = options_.max_pending_bytes;
  options.max_log_bytes = options_.max_log_bytes;
  if (arena_ != nullptr) {
    options.save_state = [this](const StoreState& state) { arena_->WriteState(state); };
    options.trim_bytes = trim_bytes;
    options.undo_log = [this](size_t thread) { return &arena_->undo_log(thread); };
  } else {
    options.log_half_full = [this] { write_back_.RequestCycle(); };
  }
  const bool logs = options_.durability != Durability::kNone;
  pipeline_ = std::make_unique<Pipeline>(logs ? log_.get() : nullptr, std::move(options),
                                         log_->last_lsn(), std::move(clients));
  barrier_ = std::make_unique<WriteBarrier>(*pipeline_, options_.max_pending_bytes);
  write_back_.SetPipeline(*pipeline_);
}

std::shared_ptr<Table> Store::OpenTable(const TableSpec& spec) {
  bool created = false;
  std::shared_ptr<Table> table = catalog_.Open(spec, &created);
  if (created && preparer_) preparer_->Add(table);
  return table;
}

void Store::DropTable(const std::string& name) {
  const std::shared_ptr<Table> table = FindTable(name);
  const WriteBack::Exclusive exclusive(write_back_);
  catalog_.Drop(*table);
}

void Store::Submit(const std::shared_ptr<Table>& table, Push push, Pipeline::Done done) {
  if (const std::string trouble = TroubleOf(*table);
      !trouble.empty() && push.rule.kind != UpdateKind::kLoad) {
    Throw(ErrorCode::kCorrupt, NamedTable(table->spec().name), " can't be written: ", trouble,
          ". Its rows can be read; restore a checkpoint, or drop it");
  }
  push.table = table->id();
  barrier_->Submit(table, push, std::move(done));
}

void Store::Apply(const std::shared_ptr<Table>& table, const Push& push) {
  // The error passes to this thread by value: ThreadSanitizer does not see that the library counts
  // the users of an exception that two threads share.
  struct Failure {
    ErrorCode code;
    std::string message;
  };
  std::promise<std::optional<Failure>> done;
  Submit(table, push, [&](const Error* error) {
    done.set_value(error == nullptr ? std::nullopt
                                    : std::optional(Failure{error->code(), error->what()}));
  });
  if (const auto failure = done.get_future().get()) Throw(failure->code, failure->message);
}

void Store::PrepareCheckpoint() {
  // Each pass usually has less to write than the previous one, because fewer pages change during a
  // shorter pass.
  for (int pass = 0; pass < kMaxPasses; pass++) {
    const Clock::time_point start = Clock::now();
    write_back_.RunCycle();
    if (SecondsSince(start) < kShortPass) return;
  }
}

std::unique_ptr<WriteBarrierHold> Store::HoldPushes(HoldOptions options) {
  return std::make_unique<WriteBarrierHold>(*barrier_, std::move(options));
}

void Store::CheckSavable(const std::vector<std::shared_ptr<Table>>& tables) const {
  for (const std::shared_ptr<Table>& table : tables) {
    if (const std::string trouble = TroubleOf(*table); !trouble.empty()) {
      Throw(ErrorCode::kCorrupt, NamedTable(table->spec().name), " can't be saved: ", trouble);
    }
  }
}

std::vector<TableSpec> Store::WriteCheckpoint(const std::string& directory,
                                              const std::vector<std::string>& names,
                                              const WriteBarrierHold& hold) {
  std::vector<std::shared_ptr<Table>> tables;
  for (const std::string& name : names) tables.push_back(FindTable(name));
  CheckSavable(tables);
  MakeDirectories(directory);
  hold.CheckHeld();
  {
    const WriteBack::Exclusive exclusive(write_back_);
    exclusive.WriteAll();
    CheckSavable(tables);  // writing may have found damage
    db_.LinkTo(CheckpointPagesPath(directory));
  }
  hold.CheckHeld();
  std::vector<CheckpointTable> chosen;
  std::vector<TableSpec> specs;
  for (const std::shared_ptr<Table>& table : tables) {
    // Descriptions are read after the pages. If optimiser state was added in between, the pages
    // lack it, which is right, because it is all zeros.
    TableSpec spec = table->spec();
    spec.attributes = table->attributes();
    chosen.push_back({table->id(), spec, table->row_ids()});
    specs.push_back(std::move(spec));
  }
  WriteCheckpointTables(directory, chosen);
  SyncDirectory(DirName(directory));
  return specs;
}

std::string Store::trouble() const {
  std::string of_pushes = pipeline_->trouble();
  if (!of_pushes.empty()) return of_pushes;
  std::string of_write_back = write_back_.trouble();
  return of_write_back.empty() ? db_.trouble() : of_write_back;
}

Store::Status Store::status() const {
  Status status;
  status.trouble = trouble();
  if (const std::string remedy = pipeline_->remedy(); !remedy.empty()) {
    status.trouble += ". " + remedy;
  }
  if (arena_ != nullptr) status.memory = arena_->directory();
  status.last_lsn = pipeline_->Snapshot(nullptr);
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
