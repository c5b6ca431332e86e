// SPDX-License-Identifier: Apache-2.0
#include "store/log/pipeline.h"

#include <algorithm>

#include "base/failure.h"
#include "base/log.h"
#include "base/strings.h"

namespace graphd::store {
namespace {

constexpr auto kRetryInterval = std::chrono::milliseconds(200);  // while the disk is full
constexpr uint64_t kLogBatchBytes = uint64_t{32} << 20;          // written and synced together

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
// bookkeeping. The pushes under way then fail, because nothing says any more what became of them,
// and the loop goes on.
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
  if (failure_) {
    Throw(ErrorCode::kIo, "nothing can be written: ", failure_->what(), "; rows can be read. ",
          log_first() ? "Restart the server, which continues with the rows that it has"
                      : "Repair the disk and restart the server");
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
  Table::Pins pins = table->Pin(push, order);  // there is no memory budget with log_first()
  auto pending = std::make_shared<PendingPush>(PendingPush{std::move(table), push, std::move(done),
                                                           std::move(order), std::move(pins),
                                                           /*ordered=*/!log_first()});
  MutexLock lock(mutex_);
  // This includes a push that is sent again: it was accepted, but perhaps not logged.
  if (failure_) CheckAccepts(push);
  if (const auto* known = clients_.Find(push.client);
      known != nullptr && push.sequence <= known->sequence) {
    // Its exact sequence number is no longer known; that of the client's last push is not smaller.
    waiters_.push_back({known->lsn, std::move(pending->done)});
    Finish();
    return;
  }
  CheckAccepts(push);
  pending->push.lsn = last_lsn_ + 1;
  pending_.push_back(pending);
  last_lsn_++;
  try {
    pending_bytes_ += BytesOf(push);
    pending->logged = log_ == nullptr;
    clients_.Remember(push.client, {push.sequence, last_lsn_});
    if (log_ != nullptr) to_log_.push_back(pending);
    to_dispatch_.push_back(pending);
    logging_.NotifyOne();
    if (!pending->ordered) {
      const MutexUnlock unlocked(mutex_);
      pending->order.Sort(push.rows, num_rows);
    }
    pending->ordered = true;
    DispatchInOrder();
    if (pending->lanes_left == 0) Finish();
  } catch (...) {
    pending->ordered = true;  // nothing sorts it any more
    GiveUp(CurrentError());   // tells `done`
  }
}

// Dispatches pushes that are ready, in the order of sequence numbers.
void Pipeline::DispatchInOrder() {
  while (!to_dispatch_.empty()) {
    PendingPush& next = *to_dispatch_.front();
    if (!next.ordered || (log_first() && !next.logged)) return;
    if (!next.failed) Dispatch(to_dispatch_.front());
    next.dispatched = true;
    to_dispatch_.pop_front();
  }
}

// Adds the push to the lanes of its pages.
void Pipeline::Dispatch(const std::shared_ptr<PendingPush>& pending) {
  for (size_t lane = 0; lane < kLanes; lane++) {
    if (pending->order.lane(lane).empty()) continue;
    lanes_[lane].pushes.push_back(pending);
    pending->lanes_left++;
  }
  work_.NotifyAll();
}

void Pipeline::Work(size_t thread) {
  Table::Scratch scratch;
  scratch.undo_log = options_.undo_log(thread);
  MutexLock lock(mutex_);
  for (;;) {
    size_t lane = 0;
    uint64_t oldest = UINT64_MAX;
    for (size_t i = 0; i < kLanes; i++) {
      if (lanes_[i].pushes.empty()) continue;
      const uint64_t lsn = lanes_[i].pushes.front()->push.lsn;
      if (!lanes_[i].busy && lsn < oldest) {
        oldest = lsn;
        lane = i;
      }
    }
    if (oldest == UINT64_MAX) {
      if (RunPiece()) continue;
      if (stopping_ && pending_.empty()) return;
      work_.Wait(mutex_);
      continue;
    }
    const std::shared_ptr<PendingPush> pending = lanes_[lane].pushes.front();
    lanes_[lane].pushes.pop_front();
    lanes_[lane].busy = true;
    lock.Unlock();
    ApplyOrWait(*pending, lane, scratch);
    lock.Lock();
    lanes_[lane].busy = false;
    if (!lanes_[lane].pushes.empty()) work_.NotifyOne();
    if (--pending->lanes_left == 0) {
      pending->pins.Release();
      Finish();
    }
  }
}

// Applies a push to the pages of a lane. Waits while there is no memory for it; nothing has changed
// then. Any other error leaves a page without the push, so no more pushes are applied.
void Pipeline::ApplyOrWait(PendingPush& pending, size_t lane, Table::Scratch& scratch) {
  for (;;) {
    try {
      return pending.table->Apply(pending.push, pending.order.lane(lane), scratch);
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
  MutexLock lock(mutex_);
  std::vector<std::shared_ptr<PendingPush>> pushes;
  std::vector<const Push*> batch;
  for (;;) {
    while (to_log_.empty()) {
      if (stopping_) return;
      logging_.Wait(mutex_);
    }
    pushes.clear();
    batch.clear();
    for (uint64_t bytes = 0; !to_log_.empty() && bytes < kLogBatchBytes;) {
      pushes.push_back(std::move(to_log_.front()));
      to_log_.pop_front();
      batch.push_back(&pushes.back()->push);
      bytes += BytesOf(*batch.back());
    }
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
    }
    DispatchInOrder();
    Finish();
    if (log_first() && log_bytes_ > options_.trim_bytes) {
      lock.Unlock();
      TrimLog();
      lock.Lock();
    }
  }
}

// Runs pieces of work on the log's thread, and on threads that have nothing to apply. Two threads
// copy about as fast as memory allows.
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

// Runs one piece of shared work, with the lock released. Returns false if there is none.
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

// Writes the batch to the log, with the lock released. While the disk is full, it waits for space.
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

void Pipeline::Fail(const Error& why) {
  const MutexLock lock(mutex_);
  SetFailure(why);
}

// Refuses pushes from now on. Only copies errors, which takes no memory, unless there is some.
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

// Fails all pushes that are not done, and refuses others. Those that are in the log are applied by
// the next process. A push that another thread still reads is done when that thread has finished.
void Pipeline::GiveUp(const Error& why) {
  SetFailure(why);
  for (Lane& lane : lanes_) {
    for (const auto& pending : lane.pushes) pending->lanes_left--;
    lane.pushes.clear();
  }
  to_log_.clear();
  to_dispatch_.clear();
  for (const auto& pending : pending_) {
    pending->failed = pending->dispatched = true;
    if (!pending->being_logged) pending->logged = true;
  }
  Finish();
}

// Calls Done of the pushes that are done, in order, with the lock released.
void Pipeline::Finish() {
  const auto call = [this](const Done& done, bool failed) GRAPHD_REQUIRES(mutex_) {
    const std::optional<Error> lost = failed ? lost_ : std::nullopt;
    const MutexUnlock unlocked(mutex_);
    LogFailure("the end of a push", [&] { done(lost ? &*lost : nullptr); });
  };
  while (!pending_.empty() && IsDone(*pending_.front())) {
    const std::shared_ptr<PendingPush> pending = std::move(pending_.front());
    pending_.pop_front();
    const Push& push = pending->push;
    done_lsn_ = push.lsn;
    pending_bytes_ -= BytesOf(push);
    broken_ = broken_ || pending->failed;
    if (!broken_) {
      // The clients are remembered first: they decide whether a push is applied again.
      if (log_first()) done_clients_.Remember(push.client, {push.sequence, push.lsn});
      good_lsn_ = push.lsn;
    }
    done_.NotifyAll();
    call(pending->done, pending->failed);
  }
  for (;;) {
    const auto waiter =
        std::find_if(waiters_.begin(), waiters_.end(),
                     [done_lsn = done_lsn_](const Waiter& each) { return each.lsn <= done_lsn; });
    if (waiter == waiters_.end()) break;
    const Done done = std::move(waiter->done);
    waiters_.erase(waiter);
    call(done, failure_.has_value());
  }
  if (stopping_ && pending_.empty()) work_.NotifyAll();
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
  // With log_first(), rows have no push that is not in the log.
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

}  // namespace graphd::store
