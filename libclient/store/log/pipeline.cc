// SPDX-License-Identifier: Apache-2.0
#include "store/log/pipeline.h"

#include <algorithm>

#include "base/failure.h"
#include "base/log.h"
#include "base/strings.h"
#include "base/threads/run_threads.h"
#include "base/threads/watched_thread.h"

namespace graphd::store {
namespace {

constexpr auto kRetryInterval = std::chrono::milliseconds(200);  // while the disk is full
constexpr uint64_t kLogBatchBytes = uint64_t{32} << 20;          // written and synced together
// The bytes that a thread applies before it checks whether it is another job's turn. They take
// about 0.1 ms.
constexpr size_t kAppliedPieceBytes = size_t{192} << 10;
constexpr size_t kMaxIdleTables = 1024;  // tables without pushes that are remembered

uint64_t BytesOf(const Push& push) { return push.payload.size() + push.rows.size_bytes() + 256; }

}  // namespace

Pipeline::Pipeline(PushLog* log, Options options, uint64_t last_lsn, ClientTable clients)
    : log_(log),
      options_(std::move(options)),
      clients_(std::move(clients)),
      done_clients_(clients_),
      last_lsn_(last_lsn),
      done_lsn_(last_lsn),
      good_lsn_(last_lsn),
      log_bytes_(log != nullptr ? log->bytes() : 0) {
  try {
    for (size_t i = 0; i < std::max<size_t>(options_.threads, 1); i++) {
      threads_.emplace_back([this, i] { RunUntilStopped([this, i] { Work(i); }); });
    }
    if (log_ != nullptr) threads_.emplace_back([this] { RunUntilStopped([this] { WriteLog(); }); });
  } catch (...) {
    Stop();
    for (std::thread& thread : threads_) thread.join();
    throw;
  }
}

// Runs the loop of a thread. The loop ends by an exception only if there is no memory for its
// bookkeeping. The pushes under way then fail, because it is no longer known how far they were
// processed, and the loop starts again.
void Pipeline::RunUntilStopped(const std::function<void()>& loop) noexcept {
  for (bool stopped = false; !stopped;) {
    stopped = LogFailure("pushes", [&] {
      try {
        loop();
      } catch (...) {
        const Error error = CurrentError();
        const MutexLock lock(mutex_);
        GiveUp(error);
        throw;
      }
    });
  }
}

void Pipeline::Stop() {
  {
    const MutexLock lock(mutex_);
    stopping_ = true;
  }
  work_.NotifyAll();
  logging_.NotifyAll();
}

Pipeline::~Pipeline() {
  Stop();
  for (std::thread& thread : threads_) thread.join();
}

void Pipeline::CheckAccepts(const Push& push) const {
  if (refuses_) Throw(ErrorCode::kUnavailable, "this graphd is shutting down");
  if (failure_) {
    Throw(ErrorCode::kIo, "nothing can be written: ", failure_->what(), "; rows can be read. ",
          Remedy());
  }
  if (pending_bytes_ > 0 && pending_bytes_ + BytesOf(push) > options_.max_pending_bytes) {
    Throw(ErrorCode::kOverloaded, "pushes of ", HumanBytes(pending_bytes_),
          " wait already; try again", waiting_for_.empty() ? "" : ": ", waiting_for_);
  }
  if (log_bytes_ > options_.max_log_bytes) {
    Throw(ErrorCode::kOverloaded, "the push log has ", HumanBytes(log_bytes_),
          ", because the disk can't keep up with writing pages back; try again");
  }
}

void Pipeline::Submit(std::shared_ptr<Table> table, Push push, Done done) {
  // Steps that can fail come before those that can't be undone.
  table->CheckPush(push);
  const int64_t num_rows = table->spec().rows;
  RowOrder order(push.rows.size());
  if (!log_first()) order.Sort(push.rows, num_rows);
  Table::Pins pins = table->Pin(push, order);  // with log_first(), there is no memory budget
  auto pending = std::make_shared<PendingPush>(PendingPush{std::move(table), push, std::move(done),
                                                           std::move(order), std::move(pins),
                                                           /*ordered=*/!log_first()});
  MutexLock lock(mutex_);
  // After a failure, a push that is sent again is refused, too: it was accepted, but perhaps not
  // logged.
  if (failure_) CheckAccepts(push);
  if (const auto* known = clients_.Find(push.client);
      known != nullptr && push.sequence <= known->sequence) {
    // The push is a repetition. It has a sequence number in the log that is no longer known, but is
    // not larger than that of the client's last push.
    waiters_.push_back({known->lsn, std::move(pending->done)});
    Finish();
    return;
  }
  CheckAccepts(push);
  pending->push.lsn = last_lsn_ + 1;
  pending->work = WorkOf(push.table);
  TableWork& work = *pending->work;
  work.pending.push_back(pending);
  try {
    pending_.push_back(pending);
  } catch (...) {
    work.pending.pop_back();
    throw;
  }
  last_lsn_++;
  try {
    pending_bytes_ += BytesOf(push);
    pending->logged = log_ == nullptr;
    clients_.Remember(push.client, {push.sequence, last_lsn_});
    if (log_ != nullptr) to_log_.push_back(pending);
    work.to_dispatch.push_back(pending);
    recent_.Note(push.share.job);
    logging_.NotifyOne();
    if (!pending->ordered) {
      const MutexUnlock unlocked(mutex_);
      pending->order.Sort(push.rows, num_rows);
    }
    pending->ordered = true;
    DispatchInOrder(work);
    if (pending->lanes_left == 0) Answer(pending->work);
  } catch (...) {
    pending->ordered = true;  // no thread sorts its rows any more
    GiveUp(CurrentError());   // tells `done`
  }
}

std::shared_ptr<Pipeline::TableWork> Pipeline::WorkOf(uint32_t table) {
  if (tables_.size() > kMaxIdleTables) {
    std::erase_if(tables_, [](const auto& entry) { return entry.second->pending.empty(); });
  }
  auto& work = tables_[table];
  if (work == nullptr) work = std::make_shared<TableWork>();
  return work;
}

// Dispatches the table's pushes that are ready, in the order of sequence numbers.
void Pipeline::DispatchInOrder(TableWork& work) {
  while (!work.to_dispatch.empty()) {
    PendingPush& next = *work.to_dispatch.front();
    if (!next.ordered || (log_first() && !next.logged)) return;
    if (!next.failed) Dispatch(work.to_dispatch.front());
    next.dispatched = true;
    work.to_dispatch.pop_front();
  }
}

// Adds the push to the lanes of its pages.
void Pipeline::Dispatch(const std::shared_ptr<PendingPush>& pending) {
  for (size_t i = 0; i < kLanes; i++) {
    if (pending->order.lane(i).empty()) continue;
    Lane& lane = pending->work->lanes[i];
    lane.pushes.push_back(pending);
    pending->lanes_left++;
    if (lane.pushes.size() == 1) lanes_.Put(pending->push.share, &lane);
  }
  work_.NotifyAll();
}

// Returns the positions, in the first push of the lane, of the rows that are applied next. `number`
// is the number of the lane. The rows are those of whole pages, because a page changes once per
// push.
std::span<const uint32_t> Pipeline::NextPiece(const Lane& lane, size_t number) {
  const PendingPush& pending = *lane.pushes.front();
  const Push& push = pending.push;
  const auto left = pending.order.lane(number).subspan(lane.applied);
  size_t end =
      std::max<size_t>(kAppliedPieceBytes / (push.payload.size() / push.rows.size() + 1), 1);
  if (end >= left.size()) return left;
  const int64_t page = push.rows[left[end - 1]] / kPageRows;
  while (end < left.size() && push.rows[left[end]] / kPageRows == page) end++;
  return left.first(end);
}

// Returns the job for which a lane is applied next, or kNone if there is none. While several jobs
// push, no job may use all threads, but must leave one to the others. Otherwise a push of another
// job would often wait for a processor, because several threads process it one after another.
uint64_t Pipeline::NextJob() {
  if (lanes_.empty()) return lanes_.kNone;
  return recent_.is_alone() ? lanes_.Next() : lanes_.NextThatLeavesOne(options_.threads);
}

void Pipeline::Work(size_t thread) {
  const WatchedThread watched(StrCat("pushes ", thread));
  RequestShortSlices();
  Table::Scratch scratch;
  scratch.undo_log = options_.undo_log(thread);
  MutexLock lock(mutex_);
  for (;;) {
    const uint64_t job = NextJob();
    if (job == lanes_.kNone) {
      if (RunPiece()) continue;
      if (stopping_ && pending_.empty()) return;
      work_.Wait(mutex_);
      continue;
    }
    Lane& lane = *lanes_.Front(job);
    const auto turn = lanes_.Begin(job, /*again=*/false);
    lane.busy = true;
    const std::shared_ptr<PendingPush> pending = lane.pushes.front();
    const auto piece = NextPiece(lane, static_cast<size_t>(&lane - lane.work->lanes));
    const double bytes = static_cast<double>(BytesOf(pending->push));
    lock.Unlock();
    WatchedThread::CountProgress();
    ApplyOrWait(*pending, piece, scratch);
    lock.Lock();
    lanes_.End(turn, bytes * static_cast<double>(piece.size()) /
                         static_cast<double>(pending->push.rows.size()));
    EndPiece(lane, piece.size());
  }
}

void Pipeline::EndPiece(Lane& lane, size_t rows) {
  const std::shared_ptr<PendingPush> pending = lane.pushes.front();
  lane.busy = false;
  lane.applied += rows;
  const bool is_last =
      pending->failed ||
      lane.applied == pending->order.lane(static_cast<size_t>(&lane - lane.work->lanes)).size();
  if (is_last) {
    lane.pushes.pop_front();
    lane.applied = 0;
    pending->lanes_left--;
  }
  if (!lane.pushes.empty()) {
    lanes_.Put(lane.pushes.front()->push.share, &lane);
  }
  if (is_last && pending->lanes_left == 0) {
    pending->pins.Release();
    // This thread calls callbacks before it takes another piece, so another thread is woken for
    // that.
    if (!lanes_.empty()) work_.NotifyOne();
    Answer(pending->work);
  }
}

// Applies a push to the rows at `positions`. If there is no memory, nothing has changed, and it
// waits and tries again. After any other error, a page may lack the push, so no more pushes are
// applied.
void Pipeline::ApplyOrWait(PendingPush& pending, std::span<const uint32_t> positions,
                           Table::Scratch& scratch) {
  for (;;) {
    try {
      return pending.table->Apply(pending.push, positions, scratch);
    } catch (...) {
      const Error error = CurrentError();
      const MutexLock lock(mutex_);
      if (error.code() == ErrorCode::kOverloaded && !stopping_) {
        const auto retry = std::chrono::steady_clock::now() + kRetryInterval;
        while (!stopping_ && work_.WaitUntil(mutex_, retry)) {
        }
        continue;
      }
      pending.failed = true;
      return GiveUp(error);
    }
  }
}

void Pipeline::WriteLog() {
  const WatchedThread watched("push log");
  RequestShortSlices();
  MutexLock lock(mutex_);
  std::vector<std::shared_ptr<PendingPush>> pushes;
  std::vector<const Push*> batch;
  for (;;) {
    while (to_log_.empty()) {
      if (stopping_) return;
      logging_.Wait(mutex_);
    }
    for (uint64_t bytes = 0; !to_log_.empty() && bytes < kLogBatchBytes;) {
      pushes.push_back(std::move(to_log_.front()));
      to_log_.pop_front();
      batch.push_back(&pushes.back()->push);
      bytes += BytesOf(*batch.back());
    }
    WatchedThread::CountProgress();
    for (const auto& pending : pushes) pending->being_logged = true;
    bool written = false;
    try {
      written = AppendOrWait(batch);
    } catch (...) {
      for (const auto& pending : pushes) pending->being_logged = false;
      throw;
    }
    for (const auto& pending : pushes) {
      pending->being_logged = false;
      pending->logged = true;
      if (!written) pending->failed = true;
      DispatchInOrder(*pending->work);
      Answer(pending->work);
    }
    // A push that is in these vectors keeps its memory and counts as an unanswered request.
    batch.clear();
    pushes.clear();
    if (log_first() && log_bytes_ > options_.trim_bytes) {
      lock.Unlock();
      TrimLog();
      lock.Lock();
    }
  }
}

// Runs pieces of work on the log's thread, and on threads that have nothing to apply. Wakes only
// one of these, because two threads copy about as fast as memory allows.
void Pipeline::RunShared(size_t count, const std::function<void(size_t)>& run) {
  if (count == 1) run(0);
  if (count <= 1) return;
  const MutexLock lock(mutex_);
  shared_work_ = {&run, count, 0, count};
  work_.NotifyOne();
  while (RunPiece()) {
  }
  while (shared_work_.left != 0) shared_work_done_.Wait(mutex_);
}

// Runs one piece of shared work while mutex_ is released. Returns false if there is none.
bool Pipeline::RunPiece() {
  if (shared_work_.next == shared_work_.count) return false;
  const size_t piece = shared_work_.next++;
  const auto& run = *shared_work_.run;
  {
    const MutexUnlock unlocked(mutex_);
    run(piece);
  }
  if (--shared_work_.left == 0) shared_work_done_.NotifyOne();
  return true;
}

void Pipeline::TrimLog() {
  StoreState state;
  {
    const MutexLock lock(mutex_);
    if (failure_) return;
    state.lsn = good_lsn_;
  }
  {
    const MutexLock log_lock(log_mutex_);
    if (!log_->CanTruncate(state.lsn)) return;
  }
  try {
    {
      const MutexLock lock(mutex_);
      state.lsn = good_lsn_;
      state.clients = done_clients_.all();
    }
    options_.save_state(state);
    TruncateLog(state.lsn);
    trim_trouble_.clear();
  } catch (...) {
    const Error error = CurrentError();
    if (trim_trouble_ != error.what()) LogError("the push log can't be truncated: ", error.what());
    trim_trouble_ = error.what();
  }
}

// Writes the batch to the log while mutex_ is released. Waits for space while the disk is full.
// Returns false if the batch can't be written at all.
bool Pipeline::AppendOrWait(std::vector<const Push*>& batch) {
  while (!failure_) {
    std::optional<Error> error;
    uint64_t bytes = 0;
    {
      const MutexUnlock unlocked(mutex_);
      {
        const MutexLock log_lock(log_mutex_);
        try {
          log_->Append(batch, [this](size_t count, const std::function<void(size_t)>& run) {
            RunShared(count, run);
          });
        } catch (...) {
          error = CurrentError();
        }
        bytes = log_->bytes();
      }
      if (bytes > options_.max_log_bytes / 2) options_.log_half_full();
    }
    log_bytes_ = bytes;
    if (!error) {
      if (!waiting_for_.empty()) LogInfo("the push log can be written again");
      waiting_for_.clear();
      return true;
    }
    if (error->code() == ErrorCode::kOverloaded && !stopping_) {
      if (waiting_for_.empty()) LogError("pushes wait: ", error->what());
      waiting_for_ = error->what();
      done_.NotifyAll();
      const auto retry = std::chrono::steady_clock::now() + kRetryInterval;
      while (!stopping_ && logging_.WaitUntil(mutex_, retry)) {
      }
    } else {
      SetFailure(*error);
    }
  }
  return false;
}

void Pipeline::Refuse() {
  const MutexLock lock(mutex_);
  refuses_ = true;
}

void Pipeline::Fail(const Error& why) {
  const MutexLock lock(mutex_);
  SetFailure(why);
}

// Makes the pipeline refuse pushes from now on. Works even if there is no memory: copies of errors
// take none, and the text of lost_ and the log line are left out if there is none for them.
void Pipeline::SetFailure(const Error& why) noexcept {
  if (failure_) return;
  failure_ = why;
  lost_ = why;
  LogFailure("pushes", [&] {
    mutex_.AssumeHeld();
    lost_ = Error(ErrorCode::kIo, StrCat("a push was not logged and may be lost: ", why.what()));
    LogError("nothing can be written any more: ", why.what());
  });
  work_.NotifyAll();
  logging_.NotifyAll();
  done_.NotifyAll();
}

// Makes all pushes fail that are not done, and refuses new ones. The next process applies failed
// pushes that are in the log. If another thread still reads a push, its callback is called when
// that thread has finished.
void Pipeline::GiveUp(const Error& why) {
  SetFailure(why);
  lanes_.Drain([](Lane*) {});
  for (const auto& [table, work] : tables_) {
    for (Lane& lane : work->lanes) {
      while (lane.pushes.size() > (lane.busy ? 1 : 0)) {
        lane.pushes.back()->lanes_left--;
        lane.pushes.pop_back();
      }
      if (!lane.busy) lane.applied = 0;
    }
    work->to_dispatch.clear();
  }
  to_log_.clear();
  for (const auto& pending : pending_) {
    if (pending->answered) continue;
    pending->failed = pending->dispatched = true;
    if (!pending->being_logged) pending->logged = true;
  }
  // No table is added meanwhile, because new pushes are refused.
  for (const auto& [table, work] : tables_) Answer(work);
}

// Calls a callback while mutex_ is released.
void Pipeline::Call(const Done& done, bool failed) {
  const std::optional<Error> lost = failed ? lost_ : std::nullopt;
  const MutexUnlock unlocked(mutex_);
  LogFailure("the end of a push", [&] { done(lost ? &*lost : nullptr); });
}

// Calls the callbacks of the table's pushes that are done, in order, while mutex_ is released.
// Earlier pushes to other tables need not be done: they are in the log, because the log is written
// in order.
void Pipeline::Answer(std::shared_ptr<TableWork> of) {
  TableWork& work = *of;
  while (!work.pending.empty() && IsDone(*work.pending.front())) {
    const std::shared_ptr<PendingPush> pending = std::move(work.pending.front());
    work.pending.pop_front();
    const Push& push = pending->push;
    pending->answered = true;
    if (pending->failed && work.first_failed == 0) work.first_failed = push.lsn;
    // The client is remembered before Finish and the callback are called, because this decides
    // whether the push is applied if it is sent again.
    if (log_first() && work.first_failed == 0) {
      const auto* known = done_clients_.Find(push.client);
      if (known == nullptr || known->sequence < push.sequence) {
        done_clients_.Remember(push.client, {push.sequence, push.lsn});
      }
    }
    pending_bytes_ -= BytesOf(push);
    Finish();
    Call(pending->done, pending->failed);
  }
}

// Updates the sequence number up to which all pushes are done, and calls the callbacks of the
// repeated pushes that are done now.
void Pipeline::Finish() {
  bool progress = false;
  while (!pending_.empty() && pending_.front()->answered) {
    const PendingPush& pending = *pending_.front();
    done_lsn_ = pending.push.lsn;
    broken_ = broken_ || pending.failed;
    if (!broken_) good_lsn_ = done_lsn_;
    pending_.pop_front();
    progress = true;
  }
  if (progress) done_.NotifyAll();
  for (;;) {
    const auto waiter =
        std::find_if(waiters_.begin(), waiters_.end(),
                     [done_lsn = done_lsn_](const Waiter& each) { return each.lsn <= done_lsn; });
    if (waiter == waiters_.end()) break;
    const Done done = std::move(waiter->done);
    waiters_.erase(waiter);
    Call(done, failure_.has_value());
  }
  if (stopping_ && pending_.empty()) work_.NotifyAll();
}

uint64_t Pipeline::LastGood(uint32_t table) const {
  const MutexLock lock(mutex_);
  const auto found = tables_.find(table);
  if (found == tables_.end() || found->second->first_failed == 0) return UINT64_MAX;
  return found->second->first_failed - 1;
}

uint64_t Pipeline::LastSequence(const ClientId& client) const {
  const MutexLock lock(mutex_);
  const auto* known = clients_.Find(client);
  return known == nullptr ? 0 : known->sequence;
}

uint64_t Pipeline::Snapshot(ClientTable::Entries* clients) const {
  const MutexLock lock(mutex_);
  if (clients != nullptr) *clients = clients_.all();
  return last_lsn_;
}

void Pipeline::WaitDone(uint64_t lsn) const {
  const MutexLock lock(mutex_);
  while (done_lsn_ < lsn && waiting_for_.empty()) done_.Wait(mutex_);
  // With log_first(), pushes up to good_lsn_ are both logged and applied even after a failure.
  if (failure_ && !(log_first() && lsn <= good_lsn_)) throw Error(*failure_);
  if (done_lsn_ < lsn) Throw(ErrorCode::kOverloaded, waiting_for_);
}

StoreState Pipeline::WaitForState() const {
  StoreState state;
  state.lsn = Snapshot(&state.clients);
  if (log_first()) {
    const MutexLock lock(mutex_);
    while (failure_ && !pending_.empty()) done_.Wait(mutex_);
    if (failure_) {
      state.lsn = good_lsn_;
      state.clients = done_clients_.all();
      return state;
    }
  }
  WaitDone(state.lsn);
  return state;
}

void Pipeline::CheckLog() const {
  const MutexLock log_lock(log_mutex_);
  if (log_ != nullptr) log_->CheckIntact();
}

bool Pipeline::failed() const {
  const MutexLock lock(mutex_);
  return failure_.has_value();
}

void Pipeline::TruncateLog(uint64_t lsn) {
  if (log_ == nullptr) return;
  uint64_t bytes = 0;
  {
    const MutexLock log_lock(log_mutex_);
    log_->TruncateThrough(lsn);
    bytes = log_->bytes();
  }
  const MutexLock lock(mutex_);
  log_bytes_ = bytes;
}

uint64_t Pipeline::log_bytes() const {
  const MutexLock lock(mutex_);
  return log_bytes_;
}

std::string Pipeline::trouble() const {
  const MutexLock lock(mutex_);
  return failure_ ? failure_->what() : waiting_for_;
}

std::string Pipeline::remedy() const {
  const MutexLock lock(mutex_);
  return failure_ ? Remedy() : "";
}

const char* Pipeline::Remedy() const {
  return log_first() ? "Restart the server, which continues with the rows that it has"
                     : "Repair the disk and restart the server";
}

}  // namespace graphd::store
