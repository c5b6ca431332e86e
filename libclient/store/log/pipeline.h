// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <cstdint>
#include <deque>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <thread>
#include <vector>

#include "base/fair_queue.h"
#include "base/recent_jobs.h"
#include "base/threads/mutex.h"
#include "store/log/client_table.h"
#include "store/log/push_log.h"
#include "store/log/store_state.h"
#include "store/rows/row_order.h"
#include "store/rows/table.h"

// The processing of pushes. Each push gets the next sequence number. It is written to the log and
// applied to its table at the same time, and is done when both have ended and all earlier pushes of
// the table are done. With a PersistentArena, a push is applied only after it was logged; otherwise
// a killed process could leave rows with a push that is not in the log. While the push is being
// logged, its rows are sorted, and threads that have nothing to apply help to write the log.
//
// The pages of each table are distributed over lanes. One thread at a time works on a lane, in the
// order of sequence numbers, so each row gets its pushes in that order with any number of threads.
// Threads work on pieces of a lane. FairQueue chooses the job whose piece is applied next. It
// divides the applied bytes among the jobs by their weights, so that a large push of one job does
// not delay the pushes of other jobs. Thread-safe.
//
// Each client also numbers its own pushes with increasing sequence numbers. A push that was
// accepted before, and is sent again after a lost connection, is not applied again. The repeated
// push is done when all pushes that were accepted up to the client's last one are done.

namespace graphd::store {

class Pipeline {
 public:
  static constexpr size_t kLanes = RowOrder::kLanes;
  // A function that is called with null when the push is durable and visible, or with an error when
  // the push has failed for good. It is called without the pipeline's locks, on one of its threads
  // or, if the push need not wait, by Submit.
  using Done = std::function<void(const Error* error)>;
  struct Options {
    size_t threads = 2;
    uint64_t max_pending_bytes = uint64_t{256} << 20;
    uint64_t max_log_bytes = uint64_t{4} << 30;
    // Called after each write to the log while the log is more than half full. A thread of the
    // pipeline calls it, without holding locks.
    std::function<void()> log_half_full = [] {};
    // Stores which pushes the rows of a PersistentArena have, so that the log is needed only for
    // later pushes and can be truncated. The log's thread calls it, without holding locks, when the
    // log has more than `trim_bytes`. If it throws, the log keeps growing. Empty without a
    // PersistentArena.
    std::function<void(const StoreState&)> save_state = {};
    uint64_t trim_bytes = 0;
    // Returns the undo log of applying thread i, or null if there is none.
    std::function<UndoLog*(size_t)> undo_log = [](size_t) { return nullptr; };
  };

  // Starts with sequence number `last_lsn` + 1. `log` outlives the pipeline, or is null if pushes
  // are not logged. `clients` is the state of the clients after push `last_lsn`.
  Pipeline(PushLog* log, Options options, uint64_t last_lsn, ClientTable clients);
  // Waits for pending pushes, unless the disk is full.
  ~Pipeline();
  // Stops the pipeline. Pushes that wait for space on the disk fail. Nothing may be submitted after
  // this call.
  void Stop();
  Pipeline(const Pipeline&) = delete;
  Pipeline& operator=(const Pipeline&) = delete;

  // Accepts a push; its rows and payload must stay valid until `done` is called. With a memory
  // budget it waits for memory, and must not be called from a `done`. Throws what Table::CheckPush
  // and Table::Pin throw, Error(kOverloaded) if too much is pending or the log is full, and
  // Error(kIo) after the pipeline has failed.
  void Submit(std::shared_ptr<Table> table, Push push, Done done);

  // Returns the client's own sequence number of its last accepted push, or 0 for an unknown client.
  uint64_t LastSequence(const ClientId& client) const;

  // Returns the sequence number of the last accepted push, and sets `clients`, unless it is null,
  // to the clients as of that push.
  uint64_t Snapshot(ClientTable::Entries* clients) const;
  // Returns the sequence number just before that of the table's first failed push, or UINT64_MAX if
  // no push to the table has failed. Call it after WaitForState.
  uint64_t LastGood(uint32_t table) const;
  // Waits until pushes up to `lsn` are logged and applied. Throws the error of the pipeline if it
  // has failed, because some of these pushes may then never be logged or applied. While the disk is
  // full, throws Error(kOverloaded) instead of waiting, because that may last.
  void WaitDone(uint64_t lsn) const;
  // Waits until the pushes accepted so far are done, and returns the state of the rows with them.
  // With a PersistentArena this is also possible after the pipeline has failed: the state then has
  // the pushes that were acknowledged. Throws as WaitDone.
  StoreState WaitForState() const;
  // Makes the pipeline fail: from now on, pushes are refused, and those that are not logged fail.
  void Fail(const Error& why);
  // Refuses new pushes from now on with Error(kUnavailable).
  void Refuse();
  bool failed() const;
  // Throws Error if the files of the log are no longer as they were written.
  void CheckLog() const;
  // Removes pushes up to `lsn` from the log, as PushLog::TruncateThrough does.
  void TruncateLog(uint64_t lsn);

  uint64_t log_bytes() const;
  // Returns why pushes wait or fail, or an empty text.
  std::string trouble() const;
  // Returns what to do if pushes fail, as a sentence without a full stop, or an empty text.
  std::string remedy() const;

 private:
  const char* Remedy() const;

  struct TableWork;
  struct PendingPush {
    std::shared_ptr<Table> table;
    Push push;
    Done done;
    RowOrder order;
    Table::Pins pins;
    bool ordered = false, logged = false;
    bool being_logged = false;  // the log's thread reads this push
    bool dispatched = false;    // passed to the lanes, or failed before
    uint32_t lanes_left = 0;
    bool failed = false;    // perhaps it was not logged, or not applied
    bool answered = false;  // its callback was called, or is about to be
    std::shared_ptr<TableWork> work{};
  };
  // Work on which several threads help, in pieces.
  struct SharedWork {
    const std::function<void(size_t)>* run = nullptr;
    size_t count = 0, next = 0, left = 0;
  };
  struct Lane {
    TableWork* work = nullptr;
    std::deque<std::shared_ptr<PendingPush>> pushes;
    size_t applied = 0;  // rows of the first push
    bool busy = false;   // a thread applies a piece of the first push
  };
  // The pushes of a table.
  struct TableWork {
    std::deque<std::shared_ptr<PendingPush>> pending;      // not answered
    std::deque<std::shared_ptr<PendingPush>> to_dispatch;  // not in lanes yet
    Lane lanes[kLanes];
    uint64_t first_failed = 0;  // sequence number; 0: no push has failed

    TableWork() {
      for (Lane& lane : lanes) lane.work = this;
    }
    TableWork(const TableWork&) = delete;
    TableWork& operator=(const TableWork&) = delete;
  };
  // A repeated push, which is done when pushes up to `lsn` are.
  struct Waiter {
    uint64_t lsn;
    Done done;
  };

  static bool IsDone(const PendingPush& pending) noexcept {
    return pending.ordered && pending.logged && pending.dispatched && pending.lanes_left == 0;
  }
  bool log_first() const noexcept { return options_.save_state != nullptr; }
  static std::span<const uint32_t> NextPiece(const Lane& lane, size_t number);
  std::shared_ptr<TableWork> WorkOf(uint32_t table) GRAPHD_REQUIRES(mutex_);
  void DispatchInOrder(TableWork& work) GRAPHD_REQUIRES(mutex_);
  void Dispatch(const std::shared_ptr<PendingPush>& pending) GRAPHD_REQUIRES(mutex_);
  void RunShared(size_t count, const std::function<void(size_t)>& run);
  bool RunPiece() GRAPHD_REQUIRES(mutex_);
  void RunUntilStopped(const std::function<void()>& loop) noexcept;
  void Work(size_t thread);
  void ApplyOrWait(PendingPush& pending, std::span<const uint32_t> positions,
                   Table::Scratch& scratch);
  uint64_t NextJob() GRAPHD_REQUIRES(mutex_);
  void EndPiece(Lane& lane, size_t rows) GRAPHD_REQUIRES(mutex_);
  void TrimLog();
  void WriteLog();
  bool AppendOrWait(std::vector<const Push*>& batch) GRAPHD_REQUIRES(mutex_);
  void Answer(std::shared_ptr<TableWork> of) GRAPHD_REQUIRES(mutex_);
  void Finish() GRAPHD_REQUIRES(mutex_);
  void Call(const Done& done, bool failed) GRAPHD_REQUIRES(mutex_);
  void CheckAccepts(const Push& push) const GRAPHD_REQUIRES(mutex_);
  void SetFailure(const Error& why) noexcept GRAPHD_REQUIRES(mutex_);
  void GiveUp(const Error& why) GRAPHD_REQUIRES(mutex_);

  PushLog* const log_ GRAPHD_PT_GUARDED_BY(log_mutex_);  // null if pushes are not logged
  const Options options_;
  mutable Mutex log_mutex_ GRAPHD_ACQUIRED_BEFORE(mutex_){Mutex::kHeldLong};
  mutable Mutex mutex_;
  mutable CondVar work_, logging_, done_, shared_work_done_;
  // The pushes from done_lsn_ + 1 to last_lsn_.
  std::deque<std::shared_ptr<PendingPush>> pending_ GRAPHD_GUARDED_BY(mutex_);
  std::deque<std::shared_ptr<PendingPush>> to_log_ GRAPHD_GUARDED_BY(mutex_);
  SharedWork shared_work_ GRAPHD_GUARDED_BY(mutex_);  // the record that is being written
  std::deque<Waiter> waiters_ GRAPHD_GUARDED_BY(mutex_);
  // Tables that were pushed to.
  std::map<uint32_t, std::shared_ptr<TableWork>> tables_ GRAPHD_GUARDED_BY(mutex_);
  // Lanes that have pushes and no thread, by the job of their first push.
  FairQueue<Lane*> lanes_ GRAPHD_GUARDED_BY(mutex_);
  RecentJobs recent_ GRAPHD_GUARDED_BY(mutex_);
  ClientTable clients_ GRAPHD_GUARDED_BY(mutex_);  // state after last_lsn_
  // State after good_lsn_, with a PersistentArena.
  ClientTable done_clients_ GRAPHD_GUARDED_BY(mutex_);
  uint64_t last_lsn_ GRAPHD_GUARDED_BY(mutex_) = 0;
  uint64_t done_lsn_ GRAPHD_GUARDED_BY(mutex_) = 0;
  uint64_t good_lsn_ GRAPHD_GUARDED_BY(mutex_) = 0;  // no push up to this one has failed
  bool broken_ GRAPHD_GUARDED_BY(mutex_) = false;    // a push has failed
  uint64_t pending_bytes_ GRAPHD_GUARDED_BY(mutex_) = 0;
  uint64_t log_bytes_ GRAPHD_GUARDED_BY(mutex_) = 0;
  bool stopping_ GRAPHD_GUARDED_BY(mutex_) = false;
  std::string waiting_for_ GRAPHD_GUARDED_BY(mutex_);
  bool refuses_ GRAPHD_GUARDED_BY(mutex_) = false;  // new pushes are refused
  // Set for good when the pipeline fails: the reason, and the error that is passed to the pushes
  // that are not done.
  std::optional<Error> failure_ GRAPHD_GUARDED_BY(mutex_), lost_ GRAPHD_GUARDED_BY(mutex_);
  std::string trim_trouble_;  // reason of the last failed truncation; the log's thread only
  std::vector<std::thread> threads_;
};

}  // namespace graphd::store
