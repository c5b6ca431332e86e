// SPDX-License-Identifier: Apache-2.0
#include "store/tensor_host.h"

#include <algorithm>
#include <chrono>
#include <thread>
#include <utility>

#include "base/failure.h"
#include "base/file.h"
#include "base/log.h"
#include "base/strings.h"
#include "base/threads/watched_thread.h"

namespace graphd::store {
namespace {

// The maximum time that a restore waits for earlier pushes, which may themselves wait for a
// checkpoint that is being made.
constexpr double kMaxPushSeconds = 60;
// Interval at which leases and tensors of jobs that have left are checked.
constexpr auto kSweepInterval = std::chrono::milliseconds(500);
constexpr size_t kDescribedAtOnce = 64;  // some 50 microseconds

// Waits until all pushes to the share are done. Returns false if that takes too long.
bool WaitForPushes(const TensorHost::Share& share) {
  const auto start = Clock::now();
  while (share.pushes > 0) {
    if (SecondsSince(start) > kMaxPushSeconds) return false;
    std::this_thread::sleep_for(std::chrono::milliseconds(1));
  }
  return true;
}

// Returns the reason as the end of a message, or an empty text if there is no reason.
std::string Because(const std::string& why) { return why.empty() ? "" : ": " + why; }

std::string HalfLoaded(const ShareRecord& record) {
  return StrCat("tensor '", record.spec.name,
                "' is being restored from a checkpoint, or its restore was not finished; restore "
                "it again, or drop it");
}

}  // namespace

TensorHost::TensorHost(std::shared_ptr<const GraphMeta> meta, std::vector<PartId> parts,
                       Options options)
    : layout_(std::move(meta), std::move(parts)),
      options_(std::move(options)),
      leases_(options_.lease_seconds, options_.orphan_seconds) {
  if (FileExists(options_.store.directory + "/pages")) OpenStore();
  sweeper_ = std::thread([this] { Sweep(); });
}

TensorHost::~TensorHost() {
  {
    const MutexLock lock(mutex_);
    stopping_ = true;
  }
  wake_.NotifyAll();
  sweeper_.join();
}

void TensorHost::OpenStore() {
  StoreOptions options = options_.store;
  MakeDirectories(options.directory);
  options.row_ids = [this](const TableSpec& spec) {
    return std::make_shared<const std::vector<int64_t>>(IdsOf(spec));
  };
  auto store = std::make_unique<Store>(std::move(options));
  const MutexLock lock(mutex_);
  store_ = std::move(store);
  for (const auto& table : store_->tables()) Adopt(table);
}

// Adds the share that an earlier process stored in the table.
void TensorHost::Adopt(const std::shared_ptr<Table>& table) {
  auto share = std::make_shared<Share>();
  share->table = table;
  share->record = DecodeRecord(table->spec(), table->attributes());
  const ShareRecord& record = share->record;
  try {
    share->rows = layout_.RowsOfStored(record, table->spec());
  } catch (const Error& error) {
    share->trouble = StrCat("tensor '", record.spec.name,
                            "' does not suit the graph that is served: ", error.what(),
                            "; drop it, or serve the graph that it was made with");
    share->of_other_version = true;
    LogWarning(share->trouble);
  }
  table->SetRestoring(record.loading);
  leases_.Watch(record.job_id);
  leases_.Watch(record.holder);
  shares_.Add(std::move(share));
}

TensorHost::MutableShare TensorHost::Create(const std::string& job, PartId part,
                                            const TensorSpec& spec, bool filled,
                                            const ShareLayout& layout) {
  auto share = std::make_shared<Share>();
  share->rows = layout.Rows(spec);
  share->record = layout.RecordFor(spec, part, spec.persistent ? "" : job, filled, share->rows);
  const TableSpec table = layout.TableFor(share->record, share->rows);
  {
    const MutexLock lock(mutex_);
    if (shares_.IsBeingRemoved(table.name)) {
      Throw(ErrorCode::kUnavailable, "tensor '", spec.name,
            "' is being dropped; it can be created again soon");
    }
    CheckNumber(job);
  }
  ShareLayout::CheckMemoryFor(table);
  if (!has_store()) OpenStore();
  creating_ = &layout;
  try {
    share->table = opened_store().OpenTable(table);
  } catch (...) {
    creating_ = nullptr;
    throw;
  }
  creating_ = nullptr;
  share->creator = job;
  const MutexLock lock(mutex_);
  shares_.Add(share);
  leases_.Watch(job);
  return share;
}

void TensorHost::CheckNumber(const std::string& job) const {
  const size_t made = shares_.CountOf(job);
  if (made >= options_.max_shares_of_job) {
    Throw(ErrorCode::kOverloaded, "job ", job, " has made ", made,
          " tensors here, of one partition ",
          "each, and no job may make more; drop some, or make fewer with more columns");
  }
}

TensorHost::Opened TensorHost::Open(const Caller& caller, PartId part, TensorSpec spec, bool create,
                                    bool caller_fills) {
  if (!layout_.Serves(part)) {
    Throw(ErrorCode::kNotFound, "partition ", part, " is not served here");
  }
  const ShareLayout layout = caller.meta ? layout_.For(caller.meta) : layout_;
  if (create) CheckTensorSpec(layout.meta(), spec);
  const MutexLock changing(changes_mutex_);
  MutexLock lock(mutex_);
  MutableShare share = shares_.FindByName(part, caller.job, spec);
  if (share) {
    // Without `create`, the share is not checked, because the caller may want to drop it, or to
    // restore it again.
    if (create) {
      if (!share->trouble.empty()) Throw(ErrorCode::kCorrupt, share->trouble);
      if (const std::string why = layout.WhyUnsuited(share->record, share->rows); !why.empty()) {
        Throw(ErrorCode::kInvalid, why);
      }
      layout.CheckSame(share->record.spec, spec);
    }
  } else if (create) {
    lock.Unlock();
    share = Create(caller.job, part, spec, !caller_fills, layout);
    lock.Lock();
  } else {
    Throw(ErrorCode::kNotFound, "there is no ", spec.persistent ? "persistent " : "", "tensor '",
          spec.name, "'");
  }
  Opened opened;
  if (!share->record.filled) {
    opened.fill = caller_fills && (share->filler == 0 || share->filler == caller.key);
    if (opened.fill) share->filler = caller.key;
    opened.filling = !opened.fill;
  }
  opened.share = Describe(*share, caller.meta);
  return opened;
}

void TensorHost::GiveUpFilling(const Caller& caller, uint32_t table) noexcept {
  const MutexLock lock(mutex_);
  const MutableShare share = shares_.Find(table);
  if (share != nullptr && share->filler == caller.key) share->filler = 0;
}

void TensorHost::Filled(const Caller& caller, uint32_t table) {
  const MutexLock changing(changes_mutex_);
  MutexLock lock(mutex_);
  const MutableShare share = shares_.FindVisible(caller.job, table);
  if (share->filler != caller.key && share->filler != 0) {
    Throw(ErrorCode::kDenied, "tensor '", share->record.spec.name,
          "': another trainer writes its first values");
  }
  ShareRecord record = share->record;
  record.filled = true;
  SaveRecord(*share, record);
  share->filler = 0;
}

void TensorHost::CheckUsable(const Share& share) const {
  if (!share.trouble.empty()) Throw(ErrorCode::kCorrupt, share.trouble);
  if (share.record.loading) Throw(ErrorCode::kCorrupt, HalfLoaded(share.record));
}

TensorHost::SharePtr TensorHost::FindToRead(const std::string& job, uint32_t table) const {
  const MutexLock lock(mutex_);
  MutableShare share = shares_.FindVisible(job, table);
  CheckUsable(*share);
  return share;
}

TensorHost::SharePtr TensorHost::FindToWrite(const std::string& job, uint32_t table,
                                             bool loads) const {
  const MutexLock lock(mutex_);
  MutableShare share = shares_.FindVisible(job, table);
  if (!loads) {
    CheckUsable(*share);
  } else if (!share->record.loading) {
    Throw(ErrorCode::kInvalid, "tensor '", share->record.spec.name,
          "' is not being restored, and rows are loaded only then");
  }
  leases_.CheckMayWrite(share->record, job);
  return share;
}

void TensorHost::SetLoading(const std::string& job, uint32_t table, bool loading) {
  MutexLock changing(changes_mutex_);
  MutexLock lock(mutex_);
  const MutableShare share = shares_.FindVisible(job, table);
  if (!share->trouble.empty()) Throw(ErrorCode::kCorrupt, share->trouble);
  leases_.CheckMayWrite(share->record, job);
  if (!loading) {
    // The restore has replaced the rows that were lost, so the trouble is removed. The share can't
    // be used before SaveLoading has removed the mark of the restore, too.
    lock.Unlock();
    opened_store().SetTrouble(*share->table, "");
    lock.Lock();
  }
  const bool was_loading = share->record.loading;
  SaveLoading(*share, loading);
  lock.Unlock();
  changing.Unlock();
  // At the beginning of a restore, earlier pushes must be done, because they must not be applied to
  // a row that was loaded. Later pushes are rejected.
  if (!loading || WaitForPushes(*share)) return;
  changing.Lock();
  lock.Lock();
  SaveLoading(*share, was_loading);
  lock.Unlock();
  Throw(ErrorCode::kUnavailable, "tensor '", share->record.spec.name,
        "': earlier pushes to it are not done after a minute, so no checkpoint can be restored now",
        Because(trouble()));
}

void TensorHost::SaveLoading(Share& share, bool loading) {
  ShareRecord record = share.record;
  record.loading = loading;
  SaveRecord(share, record);
  share.table->SetRestoring(loading);
}

void TensorHost::Submit(const std::string& job, const SharePtr& share, Push push,
                        Pipeline::Done done) {
  {
    // The lease may have ended since FindToWrite, so it is checked again. From here on, no other
    // job gets it until the push is done, even if the push waits for a checkpoint.
    const MutexLock lock(mutex_);
    if (push.rule.kind != UpdateKind::kLoad) CheckUsable(*share);
    leases_.CheckMayWrite(share->record, job);
    share->pushes++;
  }
  try {
    opened_store().Submit(share->table, push, [share, done = std::move(done)](const Error* error) {
      share->pushes--;
      done(error);
    });
  } catch (...) {
    share->pushes--;
    throw;
  }
}

bool TensorHost::Lease(const std::string& job, uint32_t table, bool hold) {
  const MutexLock changing(changes_mutex_);
  MutexLock lock(mutex_);
  const MutableShare share = shares_.FindVisible(job, table);
  ShareRecord record = share->record;
  if (!record.spec.persistent || record.spec.writers == TensorWriters::kMany) return false;
  if (hold) leases_.CheckFree(share->record, job);
  if ((record.holder == job) == hold) return false;
  if (hold && share->pushes > 0) {
    Throw(ErrorCode::kUnavailable, "tensor '", record.spec.name, "': pushes of the job that wrote ",
          "it before are not done yet; try again");
  }
  record.holder = hold ? job : "";
  // While the record is written, nobody holds the lease: the job that held it before may have come
  // back, and its pushes would not be done when the next job begins.
  const std::string before = std::exchange(share->record.holder, "");
  try {
    SaveRecord(*share, record);
  } catch (...) {
    share->record.holder = before;
    leases_.Watch(before);
    throw;
  }
  // A job may have left while the record was written. It was not the holder then, so leases_ did
  // not note when it left.
  leases_.Watch(record.holder);
  return true;
}

std::shared_ptr<const Table> TensorHost::PrepareState(const std::string& job, uint32_t table,
                                                      OptimizerState state) {
  SharePtr share;
  {
    const MutexLock lock(mutex_);
    share = shares_.FindVisible(job, table);
    if (!share->trouble.empty()) Throw(ErrorCode::kCorrupt, share->trouble);
    leases_.CheckFree(share->record, job);
  }
  if (static_cast<uint8_t>(state) >= kOptimizerStates) {
    Throw(ErrorCode::kInvalid, "optimiser's state ", static_cast<int>(state), " does not exist");
  }
  try {
    opened_store().AddState(share->table, state);
  } catch (const Error& error) {
    Throw(error.code(), "tensor '", share->record.spec.name, "': ", error.what());
  }
  return share->table;
}

void TensorHost::Drop(const std::string& job, uint32_t table) {
  MutableShare share;
  {
    const MutexLock changing(changes_mutex_);
    const MutexLock lock(mutex_);
    leases_.CheckFree(shares_.FindVisible(job, table)->record, job);
    share = shares_.BeginRemoval(table);
  }
  Remove({share});
}

// Drops the tables of shares that were taken out of shares_. Puts shares back whose tables can't be
// dropped, and throws the first error, which may also be that the disk does not have a change yet.
// No mutex is held while a table is dropped, because the store waits for write-back then, which may
// take minutes, or for ever if the disk is full.
void TensorHost::Remove(const std::vector<MutableShare>& shares) {
  std::optional<Error> failure;
  for (const MutableShare& share : shares) {
    bool removed = true;
    try {
      opened_store().DropTable(share->table->spec().name);
    } catch (...) {
      removed = opened_store().IsDropped(*share->table);
      if (!failure) failure = CurrentError();
    }
    const MutexLock lock(mutex_);
    shares_.EndRemoval(share, removed);
  }
  if (failure) throw Error(*failure);
}

// Stores the record on the disk, and then in the share. May change only the members of the record
// that are assigned below.
void TensorHost::SaveRecord(Share& share, const ShareRecord& record) {
  {
    const MutexUnlock unlocked(mutex_);
    opened_store().SetAttributes(share.table, EncodeRecord(record));
  }
  // Only the members that can differ are assigned. The other members of a record never change, and
  // other threads read them without the mutex.
  share.record.holder = record.holder;
  share.record.filled = record.filled;
  share.record.loading = record.loading;
}

void TensorHost::OnJobJoined(const std::string& job) {
  const MutexLock lock(mutex_);
  leases_.OnJobJoined(job);
}

void TensorHost::OnJobLeft(const std::string& job) {
  const MutexLock lock(mutex_);
  leases_.OnJobLeft(job, shares_.AnyOf(job));
}

void TensorHost::OnJobEnded(const std::string& job) {
  const MutexLock lock(mutex_);
  leases_.Expire(job);
}

void TensorHost::OnCallerLeft(uint64_t key) {
  const MutexLock lock(mutex_);
  for (const MutableShare& share : shares_.All()) {
    if (share->filler == key) share->filler = 0;
  }
}

// Ends the leases, and deletes the tensors, of jobs that have been gone for too long. Runs on the
// thread sweeper_.
void TensorHost::Sweep() {
  const WatchedThread watched("leases");
  MutexLock lock(mutex_);
  while (!stopping_) {
    wake_.WaitFor(mutex_, kSweepInterval);
    lock.Unlock();
    LogFailure("tensors of jobs that have left", [this] { EndExpiredJobs(); });
    lock.Lock();
  }
}

void TensorHost::EndExpiredJobs() {
  std::vector<std::string> jobs;
  {
    const MutexLock lock(mutex_);
    jobs = leases_.ExpiredJobs();
  }
  for (const std::string& job : jobs) EndJob(job);
}

void TensorHost::EndJob(const std::string& job) {
  try {
    std::vector<MutableShare> orphans;
    {
      const MutexLock changing(changes_mutex_);
      EndLeases(job);
      const MutexLock lock(mutex_);
      if (!leases_.IsOrphaned(job)) return;
      leases_.Forget(job);
      orphans = shares_.BeginRemovalOf(job);
    }
    Remove(orphans);
  } catch (...) {
    LogError({.job = job, .op = "delete_tensor"}, "tensors of job ", job,
             ", which has left: ", CurrentError().what(), "; it will be tried again");
    const MutexLock lock(mutex_);
    leases_.Retry(job);
  }
}

void TensorHost::EndLeases(const std::string& job) {
  MutexLock lock(mutex_);
  for (const MutableShare& share : shares_.LeasedBy(job)) {
    if (!leases_.HasLeft(job)) return;  // the job has connected again
    ShareRecord record = share->record;
    record.holder.clear();
    SaveRecord(*share, record);
  }
}

TensorShare TensorHost::Describe(const Share& share) const {
  const ShareRecord& record = share.record;
  TensorShare result;
  result.table = share.table->id();
  result.part = record.part;
  result.info = {record.spec, share.table->spec().state, record.job_id, record.holder};
  result.resident_bytes = share.table->resident_bytes();
  result.preparing_bytes = share.table->preparing_bytes();
  result.stored_rows = share.table->spec().rows;
  result.trouble = share.trouble;
  result.of_other_version = share.of_other_version;
  if (result.trouble.empty() && record.loading) result.trouble = HalfLoaded(record);
  if (result.trouble.empty()) result.trouble = store_->TroubleOf(*share.table);
  return result;
}

TensorShare TensorHost::Describe(const Share& share,
                                 const std::shared_ptr<const GraphMeta>& meta) const {
  TensorShare result = Describe(share);
  if (meta && share.trouble.empty()) {
    const std::string why = layout_.For(meta).WhyUnsuited(share.record, share.rows);
    if (!why.empty()) {
      result.trouble = why;
      result.of_other_version = true;
    }
  }
  return result;
}

std::vector<TensorShare> TensorHost::DescribeAll(
    const std::vector<MutableShare>& shares, const std::shared_ptr<const GraphMeta>& meta) const {
  std::vector<TensorShare> all;
  all.reserve(shares.size());
  while (all.size() < shares.size()) {
    // Calls that look for a share wait for mutex_, so it is not held for thousands of shares.
    if (!all.empty()) std::this_thread::yield();
    const size_t end = std::min(all.size() + kDescribedAtOnce, shares.size());
    const MutexLock lock(mutex_);
    while (all.size() < end) all.push_back(Describe(*shares[all.size()], meta));
  }
  return all;
}

std::vector<TensorHost::MutableShare> TensorHost::AllShares() const {
  const MutexLock lock(mutex_);
  return shares_.All();
}

std::vector<TensorShare> TensorHost::List(const std::string& job,
                                          const std::shared_ptr<const GraphMeta>& meta) const {
  std::vector<MutableShare> shares;
  {
    const MutexLock lock(mutex_);
    shares = shares_.VisibleTo(job);
  }
  return DescribeAll(shares, meta);
}

std::vector<TensorShare> TensorHost::ListAll(const std::shared_ptr<const GraphMeta>& meta) const {
  return DescribeAll(AllShares(), meta);
}

std::vector<ShareMemory> TensorHost::Memory() const {
  const std::vector<MutableShare> shares = AllShares();
  std::vector<TensorShare> described = DescribeAll(shares, nullptr);
  std::vector<ShareMemory> all;
  all.reserve(shares.size());
  for (size_t i = 0; i < shares.size(); i++) {
    all.push_back({std::move(described[i]), shares[i]->table->ChangedBytes(),
                   opened_store().StoredBytes(*shares[i]->table)});
  }
  return all;
}

std::string TensorHost::trouble() const {
  const MutexLock lock(mutex_);
  return store_ ? store_->trouble() : "";
}

void TensorHost::RefusePushes() {
  {
    const MutexLock lock(mutex_);
    if (!store_) return;
  }
  opened_store().RefusePushes();
}

void TensorHost::WriteBackNow() {
  {
    const MutexLock lock(mutex_);
    if (!store_) return;
  }
  opened_store().WriteBackNow();
}

std::optional<StoreStatus> TensorHost::status() const {
  const MutexLock lock(mutex_);
  if (!store_) return std::nullopt;
  const Store::Status status = store_->status();
  StoreStatus result;
  result.directory = options_.store.directory;
  result.durability = DurabilityName(options_.store.durability);
  result.memory = status.memory;
  result.memory_bytes = options_.store.memory_bytes;
  result.resident_bytes = status.resident_bytes;
  result.page_bytes = status.page_bytes;
  result.log_bytes = status.log_bytes;
  result.pushes = status.last_lsn;
  const WriteBack::Progress progress = store_->write_back_progress();
  result.changed_bytes = progress.total;
  result.written_bytes = progress.written;
  result.trouble = status.trouble;
  result.damage = store_->damage();
  return result;
}

Store& TensorHost::store() {
  {
    const MutexLock lock(mutex_);
    if (store_) return *store_;
  }
  const MutexLock changing(changes_mutex_);
  if (!has_store()) OpenStore();
  return opened_store();
}

}  // namespace graphd::store
