// SPDX-License-Identifier: Apache-2.0
#include "store/tensor_host.h"

#include <algorithm>

#include "base/file.h"
#include "base/log.h"
#include "base/memory_limit.h"
#include "base/strings.h"

namespace graphd::store {
namespace {

// Pushes wait that long for a checkpoint that is being taken.
constexpr double kLongestPushes = 60;
constexpr uint64_t kBlockBytes = 4096;  // of memory, each of which is counted in a byte

std::string DTypeAndShape(const TensorSpec& spec) {
  std::vector<std::string> extents;
  for (const int64_t extent : spec.shape()) extents.push_back(std::to_string(extent));
  return StrCat(DTypeName(spec.dtype), " [", Join(extents, ", "), "]");
}

// False if they take too long.
bool PushesEnd(const TensorHost::Share& share) {
  const auto start = Clock::now();
  while (share.pushes > 0) {
    if (SecondsSince(start) > kLongestPushes) return false;
    std::this_thread::sleep_for(std::chrono::milliseconds(1));
  }
  return true;
}

// At the end of a message.
std::string Because(const std::string& why) { return why.empty() ? "" : ": " + why; }

const char* WritersText(TensorWriters writers) {
  return writers == TensorWriters::kMany ? "many" : "exclusive";
}

std::string HalfLoaded(const ShareRecord& record) {
  return StrCat(
      "tensor '", record.spec.name,
      "' is being restored from a checkpoint, or was not to the end; restore it again, or "
      "drop it");
}

}  // namespace

TensorHost::TensorHost(std::shared_ptr<const GraphMeta> meta, std::vector<PartId> parts,
                       Options options)
    : meta_(std::move(meta)), parts_(std::move(parts)), options_(std::move(options)) {
  if (FileExists(options_.store.directory + "/pages")) OpenStore();
  sweeper_ = std::thread([this] { Sweep(); });
}

TensorHost::~TensorHost() {
  {
    std::lock_guard lock(mutex_);
    stopping_ = true;
  }
  wake_.notify_all();
  sweeper_.join();
}

void TensorHost::OpenStore() {
  StoreOptions options = options_.store;
  MakeDirectories(options.directory);
  options.row_ids = [this](const TableSpec& spec) {
    return std::make_shared<const std::vector<int64_t>>(IdsOf(spec));
  };
  auto store = std::make_unique<Store>(std::move(options));
  std::lock_guard lock(mutex_);
  store_ = std::move(store);
  for (const auto& table : store_->tables()) Adopt(table);
}

std::vector<int64_t> TensorHost::IdsOf(const TableSpec& table) const {
  const ShareRecord record = DecodeRecord(table, table.attributes);
  std::vector<int64_t> ids(static_cast<size_t>(table.rows));
  TensorRows rows;
  try {
    rows = CheckSuits(record, table.rows);
  } catch (const Error&) {
    return ids;  // nobody can use it: Adopt says why
  }
  for (size_t i = 0; i < ids.size(); i++) {
    ids[i] = rows.map->FromLocalRow(record.part, rows.type, static_cast<int64_t>(i));
  }
  return ids;
}

TensorRows TensorHost::CheckSuits(const ShareRecord& record, int64_t count) const {
  if (std::find(parts_.begin(), parts_.end(), record.part) == parts_.end() ||
      record.num_parts != meta_->book.num_partitions()) {
    Throw(ErrorCode::kInvalid, "it is of partition ", record.part, " of ", record.num_parts);
  }
  TensorSpec spec = record.spec;
  CheckTensorSpec(*meta_, spec);
  TensorRows rows = RowsOf(meta_, spec);
  if (rows.count_in(record.part) != count) {
    Throw(ErrorCode::kInvalid, "it has ", count, " rows of partition ", record.part, ", which has ",
          rows.count_in(record.part));
  }
  return rows;
}

void TensorHost::Adopt(const std::shared_ptr<Table>& table) {
  auto share = std::make_shared<Share>();
  share->table = table;
  share->record = DecodeRecord(table->spec(), table->attributes());
  const ShareRecord& record = share->record;
  try {
    share->rows = CheckSuits(record, table->spec().rows);
  } catch (const Error& error) {
    share->trouble = StrCat("tensor '", record.spec.name,
                            "' does not suit the graph that is served: ", error.what(),
                            "; drop it, or serve the graph that it was made with");
    LogWarning(share->trouble);
  }
  table->SetRestoring(record.loading);
  for (const std::string& job : {record.job_id, record.holder}) {
    if (!job.empty()) gone_.try_emplace(job, Clock::now());
  }
  shares_[table->id()] = std::move(share);
}

TensorHost::MutableShare TensorHost::FindByName(PartId part, const std::string& job,
                                                const TensorSpec& spec) const {
  const std::string& owner = spec.persistent ? std::string() : job;
  for (const auto& [id, share] : shares_) {
    const ShareRecord& record = share->record;
    if (record.part == part && record.job_id == owner && record.spec.name == spec.name) {
      return share;
    }
  }
  return nullptr;
}

void TensorHost::CheckSame(const Share& share, const TensorSpec& wanted) const {
  const TensorSpec& is = share.record.spec;
  std::vector<std::string> all;
  const auto compare = [&](const char* what, const std::string& a, const std::string& b) {
    if (a != b) all.push_back(StrCat(what, " ", a, ", not ", b));
  };
  compare("has dtype and shape", DTypeAndShape(is), DTypeAndShape(wanted));
  compare("belongs to", PolicyText(meta_->schema, is), PolicyText(meta_->schema, wanted));
  compare("is written by", WritersText(is.writers), WritersText(wanted.writers));
  if (!all.empty()) {
    Throw(ErrorCode::kInvalid, "tensor '", is.name, "' exists already, and ", Join(all, "; "),
          "; drop it or choose another name");
  }
}

TensorHost::MutableShare TensorHost::Make(const std::string& job, PartId part,
                                          const TensorSpec& spec, bool filled) {
  auto share = std::make_shared<Share>();
  share->rows = RowsOf(meta_, spec);
  share->record = {spec, part,  meta_->book.num_partitions(), spec.persistent ? "" : job,
                   "",   filled};
  TableSpec table;
  table.name = TableName(part, share->record.job_id, spec.name);
  table.dtype = spec.dtype;
  table.row_shape = spec.row_shape;
  table.rows = share->rows.count_in(part);
  table.first_id =
      share->rows.map->is_range() ? share->rows.map->type_begin(part, share->rows.type) : -1;
  table.initializer = spec.initializer;
  table.attributes = EncodeRecord(share->record);
  {
    std::lock_guard lock(mutex_);
    if (removing_.contains(table.name)) {
      Throw(ErrorCode::kUnavailable, "tensor '", spec.name,
            "' is being dropped; it can be made anew soon");
    }
    CheckNumber(job);
  }
  CheckRoom(table, share->rows.map->is_range());
  if (!store_) OpenStore();
  share->table = store_->OpenTable(table);
  share->maker = job;
  std::lock_guard lock(mutex_);
  shares_[share->table->id()] = share;
  Watch(job);
  return share;
}

void TensorHost::CheckNumber(const std::string& job) const {
  const auto made = std::count_if(shares_.begin(), shares_.end(), [&](const auto& entry) {
    return entry.second->record.job_id == job || entry.second->maker == job;
  });
  if (static_cast<size_t>(made) >= options_.max_shares_of_job) {
    Throw(ErrorCode::kOverloaded, "job ", job, " has made ", made,
          " tensors here, of one partition ",
          "each, and no job may make more; drop some, or make fewer with more columns");
  }
}

// Rows take memory when they are used, but what is kept of each page takes it at once.
void TensorHost::CheckRoom(const TableSpec& table, bool is_range) const {
  constexpr uint64_t kPerPage = 32;
  const uint64_t rows = static_cast<uint64_t>(table.rows);
  const uint64_t blocks = rows / kBlockBytes * table.row_bytes();
  const uint64_t ids = is_range ? 0 : rows * sizeof(int64_t);
  CheckMemory(ArenaPages(table.rows) * kPerPage + blocks + ids, AvailableMemory(),
              StrCat("a table of ", table.rows, " rows"));
}

TensorHost::Opened TensorHost::Open(const Caller& caller, PartId part, TensorSpec spec, bool create,
                                    bool caller_fills) {
  if (std::find(parts_.begin(), parts_.end(), part) == parts_.end()) {
    Throw(ErrorCode::kNotFound, "partition ", part, " is not served here");
  }
  if (create) CheckTensorSpec(*meta_, spec);
  std::lock_guard changing(changes_);
  std::unique_lock lock(mutex_);
  MutableShare share = FindByName(part, caller.job, spec);
  if (share) {
    if (create) {  // otherwise it may be to drop it; while it is half loaded, to load it anew
      if (!share->trouble.empty()) Throw(ErrorCode::kCorrupt, share->trouble);
      CheckSame(*share, spec);
    }
  } else if (create) {
    lock.unlock();
    share = Make(caller.job, part, spec, !caller_fills);
    lock.lock();
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
  opened.share = Describe(*share);
  return opened;
}

void TensorHost::GiveUpFilling(const Caller& caller, uint32_t table) noexcept {
  std::lock_guard lock(mutex_);
  const auto found = shares_.find(table);
  if (found != shares_.end() && found->second->filler == caller.key) found->second->filler = 0;
}

void TensorHost::Filled(const Caller& caller, uint32_t table) {
  std::lock_guard changing(changes_);
  std::unique_lock lock(mutex_);
  const MutableShare share = FindVisible(caller.job, table);
  if (share->filler != caller.key && share->filler != 0) {
    Throw(ErrorCode::kDenied, "tensor '", share->record.spec.name,
          "': another trainer writes its first values");
  }
  ShareRecord record = share->record;
  record.filled = true;
  Keep(*share, record, lock);
  share->filler = 0;
}

TensorHost::MutableShare TensorHost::FindVisible(const std::string& job, uint32_t table) const {
  const auto found = shares_.find(table);
  if (found == shares_.end() ||
      !(found->second->record.job_id.empty() || found->second->record.job_id == job)) {
    Throw(ErrorCode::kNotFound, "this job has no tensor of number ", table,
          " here (any more); it was dropped, or its job had left for too long");
  }
  return found->second;
}

void TensorHost::CheckUsable(const Share& share) const {
  if (!share.trouble.empty()) Throw(ErrorCode::kCorrupt, share.trouble);
  if (share.record.loading) Throw(ErrorCode::kCorrupt, HalfLoaded(share.record));
}

TensorHost::SharePtr TensorHost::FindToRead(const std::string& job, uint32_t table) const {
  std::lock_guard lock(mutex_);
  MutableShare share = FindVisible(job, table);
  CheckUsable(*share);
  return share;
}

TensorHost::SharePtr TensorHost::FindToWrite(const std::string& job, uint32_t table,
                                             bool loads) const {
  std::lock_guard lock(mutex_);
  MutableShare share = FindVisible(job, table);
  if (!loads) {
    CheckUsable(*share);
  } else if (!share->record.loading) {
    Throw(ErrorCode::kInvalid, "tensor '", share->record.spec.name,
          "' is not being restored, and rows are loaded only then");
  }
  CheckMayWrite(*share, job);
  return share;
}

void TensorHost::SetLoading(const std::string& job, uint32_t table, bool loading) {
  std::unique_lock changing(changes_);
  std::unique_lock lock(mutex_);
  const MutableShare share = FindVisible(job, table);
  if (!share->trouble.empty()) Throw(ErrorCode::kCorrupt, share->trouble);
  CheckMayWrite(*share, job);
  if (!loading) {  // what it had lost is there again; until the mark goes, it can't be used
    lock.unlock();
    store_->SetTrouble(*share->table, "");
    lock.lock();
  }
  const bool was_loading = share->record.loading;
  MarkLoading(*share, loading, lock);
  lock.unlock();
  changing.unlock();
  // None that came before may be applied to a row that was loaded; none has come since.
  if (!loading || PushesEnd(*share)) return;
  changing.lock();
  lock.lock();
  MarkLoading(*share, was_loading, lock);
  lock.unlock();
  Throw(ErrorCode::kUnavailable, "tensor '", share->record.spec.name,
        "': pushes to it do not end, so no checkpoint can be restored now", Because(trouble()));
}

void TensorHost::MarkLoading(Share& share, bool loading, std::unique_lock<std::mutex>& lock) {
  ShareRecord record = share.record;
  record.loading = loading;
  Keep(share, record, lock);
  share.table->SetRestoring(loading);
}

void TensorHost::CheckMayWrite(const Share& share, const std::string& job) const {
  const ShareRecord& record = share.record;
  if (record.spec.persistent && record.spec.writers == TensorWriters::kExclusive &&
      record.holder != job) {
    CheckFree(share, job);
    Throw(ErrorCode::kDenied, "tensor '", record.spec.name,
          "' is written by one job at a time; take its lease first (DistTensor::Acquire)");
  }
}

void TensorHost::CheckFree(const Share& share, const std::string& job) const {
  const std::string& holder = share.record.holder;
  if (holder.empty() || holder == job) return;
  const std::optional<double> gone = GoneFor(holder);
  if (!gone) {
    Throw(ErrorCode::kDenied, "job ", holder, " writes tensor '", share.record.spec.name,
          "'; wait for its end, or stop it (graphctl ps, graphctl stop)");
  }
  if (*gone < options_.lease_seconds) {
    Throw(ErrorCode::kUnavailable, "job ", holder, ", which writes tensor '",
          share.record.spec.name, "', left ", *gone, " s ago and may come back within ",
          options_.lease_seconds, " s");
  }
}

void TensorHost::Submit(const std::string& job, const SharePtr& share, Push push,
                        Pipeline::Done done) {
  {
    // The lease may have gone since it was looked at. From here on it doesn't go to another job
    // until the push is done, behind a checkpoint perhaps.
    std::lock_guard lock(mutex_);
    if (push.rule.kind != UpdateKind::kLoad) CheckUsable(*share);
    CheckMayWrite(*share, job);
    share->pushes++;
  }
  try {
    store_->Submit(share->table, push, [share, done = std::move(done)](const Error* error) {
      share->pushes--;
      done(error);
    });
  } catch (...) {
    share->pushes--;
    throw;
  }
}

bool TensorHost::Lease(const std::string& job, uint32_t table, bool hold) {
  std::lock_guard changing(changes_);
  std::unique_lock lock(mutex_);
  const MutableShare share = FindVisible(job, table);
  ShareRecord record = share->record;
  if (!record.spec.persistent || record.spec.writers == TensorWriters::kMany) return false;
  if (hold) CheckFree(*share, job);
  if ((record.holder == job) == hold) return false;
  if (hold && share->pushes > 0) {
    Throw(ErrorCode::kUnavailable, "tensor '", record.spec.name, "': pushes of the job that wrote ",
          "it before are not done yet; try again");
  }
  record.holder = hold ? job : "";
  if (hold) Watch(job);
  Keep(*share, record, lock);
  return true;
}

void TensorHost::PrepareState(const std::string& job, uint32_t table, OptimizerState state) {
  SharePtr share;
  {
    std::lock_guard lock(mutex_);
    share = FindVisible(job, table);
    if (!share->trouble.empty()) Throw(ErrorCode::kCorrupt, share->trouble);
    CheckFree(*share, job);
  }
  if (static_cast<uint8_t>(state) >= kOptimizerStates) {
    Throw(ErrorCode::kInvalid, "optimiser's state ", static_cast<int>(state), " does not exist");
  }
  try {
    store_->AddState(share->table, state);
  } catch (const Error& error) {
    Throw(error.code(), "tensor '", share->record.spec.name, "': ", error.what());
  }
}

void TensorHost::Drop(const std::string& job, uint32_t table) {
  MutableShare share;
  {
    std::lock_guard changing(changes_);
    std::lock_guard lock(mutex_);
    CheckFree(*FindVisible(job, table), job);
    share = TakeOut(table);
  }
  Remove({share});
}

void TensorHost::Keep(Share& share, const ShareRecord& record, std::unique_lock<std::mutex>& lock) {
  lock.unlock();
  store_->SetAttributes(share.table, EncodeRecord(record));
  lock.lock();
  share.record.holder = record.holder;  // the rest of it is read without the mutex
  share.record.filled = record.filled;
  share.record.loading = record.loading;
}

TensorShare TensorHost::Describe(const Share& share) const {
  const ShareRecord& record = share.record;
  TensorShare told;
  told.table = share.table->id();
  told.part = record.part;
  told.info = {record.spec, share.table->spec().state, record.job_id, record.holder};
  told.resident_bytes = share.table->resident_bytes();
  told.stored_rows = share.table->spec().rows;
  told.trouble = share.trouble;
  if (told.trouble.empty() && record.loading) told.trouble = HalfLoaded(record);
  if (told.trouble.empty()) told.trouble = store_->TroubleOf(*share.table);
  return told;
}

std::vector<TensorShare> TensorHost::List(const std::string& job) const {
  std::lock_guard lock(mutex_);
  std::vector<TensorShare> all;
  for (const auto& [id, share] : shares_) {
    const std::string& owner = share->record.job_id;
    if (owner.empty() || owner == job) all.push_back(Describe(*share));
  }
  return all;
}

std::vector<TensorShare> TensorHost::ListAll() const {
  std::lock_guard lock(mutex_);
  std::vector<TensorShare> all;
  for (const auto& [id, share] : shares_) all.push_back(Describe(*share));
  return all;
}

std::string TensorHost::trouble() const {
  std::lock_guard lock(mutex_);
  return store_ ? store_->trouble() : "";
}

std::optional<StoreStatus> TensorHost::status() const {
  std::lock_guard lock(mutex_);
  if (!store_) return std::nullopt;
  const Store::Status is = store_->status();
  StoreStatus told;
  told.directory = options_.store.directory;
  told.durability = DurabilityName(options_.store.durability);
  told.memory = is.memory;
  told.memory_bytes = options_.store.memory_bytes;
  told.resident_bytes = is.resident_bytes;
  told.page_bytes = is.page_bytes;
  told.log_bytes = is.log_bytes;
  told.pushes = is.last_lsn;
  told.trouble = is.trouble;
  told.damage = store_->damage();
  return told;
}

Store& TensorHost::store() {
  {
    std::lock_guard lock(mutex_);
    if (store_) return *store_;
  }
  std::lock_guard changing(changes_);
  if (!store_) OpenStore();
  return *store_;
}

}  // namespace graphd::store
