// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <condition_variable>
#include <cstdint>
#include <deque>
#include <functional>
#include <memory>
#include <mutex>
#include <string>
#include <thread>
#include <vector>

#include "store/log/client_table.h"
#include "store/log/push_log.h"
#include "store/log/store_state.h"
#include "store/rows/row_order.h"
#include "store/rows/table.h"

// The way of a push: it gets the next number; is written to the log and applied to its table, both
// at the same time; and is done when both are, and every push before it is. Where memory outlasts
// the process it is logged first, or rows could be left with a push that nothing knows of; it is
// put in order meanwhile, and a thread that has nothing to apply helps with writing it. Pages
// are dealt out to lanes, and a lane is worked on by one thread at a time in the order of numbers,
// so each row sees its pushes in that order whatever the number of threads. Thread-safe; one lock,
// `mutex_`.
//
// A client's pushes have ascending sequence numbers. One that came before (sent again after a lost
// connection) is not applied again: it is done when all pushes before it are.

namespace graphd::store {

class Pipeline {
 public:
  static constexpr size_t kLanes = RowOrder::kLanes;
  // With null when the push is safe and visible; with the reason when it is not and never will be.
  // Called without the pipeline's lock, on one of its threads or, if nothing is to be waited for,
  // by Submit.
  using Done = std::function<void(const Error* error)>;
  struct Options {
    size_t threads = 2;
    uint64_t max_pending_bytes = uint64_t{256} << 20;
    uint64_t max_log_bytes = uint64_t{4} << 30;
    // Called by a thread of the pipeline, without locks, after each write to a log that is more
    // than half full.
    std::function<void()> log_half_full = [] {};
    // Where memory lasts: keeps what is true of it, so that the log is needed for what is under way
    // only, and is cut when it has more than `trim_bytes`. On the log's thread, without locks. May
    // throw Error: then the log goes on growing.
    std::function<void(const StoreState&)> save_state = {};
    uint64_t trim_bytes = 0;
    // What applying thread i keeps of rows before it changes them; null: nothing.
    std::function<UndoLog*(size_t)> undo_log = [](size_t) { return nullptr; };
  };

  // `log` may be null: pushes are done when they are applied. Goes on behind `last_lsn`.
  Pipeline(PushLog* log, Options options, uint64_t last_lsn, ClientTable clients);
  // Waits for what is pending, unless the disk is full.
  ~Pipeline();
  // From now on nothing may be submitted, and pushes that wait for room on the disk fail.
  void Stop();
  Pipeline(const Pipeline&) = delete;
  Pipeline& operator=(const Pipeline&) = delete;

  // Takes a push; its rows and payload must stay until `done`. Where memory is bounded it waits for
  // that, so not from a `done` then. Throws Error: what CheckPush and Pin throw, kOverloaded if too
  // much is pending or the log is full, kIo after the log has failed.
  void Submit(std::shared_ptr<Table> table, Push push, Done done);

  // The sequence number of the client's last push that was taken; 0 for one that is not known.
  uint64_t LastSequence(const ClientId& client) const;

  // The number of the last push taken, and a copy of the clients as of it.
  uint64_t Cut(ClientTable::Entries* clients) const;
  // Returns when pushes up to `lsn` are logged and applied. Throws Error: kIo if the log failed,
  // kOverloaded at once while the disk is full, for nobody knows how long that takes.
  void WaitDone(uint64_t lsn) const;
  void TruncateLog(uint64_t lsn);

  uint64_t log_bytes() const;
  // Empty, or why pushes wait or fail.
  std::string trouble() const;

 private:
  struct Job {
    std::shared_ptr<Table> table;
    Push push;
    Done done;
    RowOrder order;
    Table::Pins pins;
    bool ordered = false, logged = false;
    bool dealt = false;  // to the lanes, or never will be
    uint32_t lanes_left = 0;
    std::unique_ptr<Error> error = nullptr;  // why it was not logged
  };
  // What several threads do together, in pieces.
  struct Shared {
    const std::function<void(size_t)>* run = nullptr;
    size_t count = 0, next = 0, left = 0;
  };
  struct Lane {
    std::deque<std::shared_ptr<Job>> jobs;
    bool busy = false;
  };
  // A repeated push: done when those up to `lsn` are.
  struct Waiter {
    uint64_t lsn;
    Done done;
  };

  static bool IsDone(const Job& job) noexcept {
    return job.logged && job.dealt && job.lanes_left == 0;
  }
  bool log_first() const noexcept { return options_.save_state != nullptr; }
  void DealInOrder();
  void Deal(const std::shared_ptr<Job>& job);
  void RunTogether(size_t count, const std::function<void(size_t)>& run);
  bool RunPiece(std::unique_lock<std::mutex>& lock);
  void Work(size_t thread);
  void TrimLog();
  void WriteLog();
  bool AppendOrWait(std::vector<const Push*>& batch, std::unique_lock<std::mutex>& lock);
  void Finish(std::unique_lock<std::mutex>& lock);
  void Refuse(const Push& push) const;
  Error NotLogged() const;

  PushLog* const log_;  // the log thread's, but under log_mutex_ for truncation
  const Options options_;
  mutable std::mutex log_mutex_;

  mutable std::mutex mutex_;
  mutable std::condition_variable work_, logging_, done_, together_;
  std::deque<std::shared_ptr<Job>> pending_;  // pushes done_lsn_ + 1 ... last_lsn_
  std::deque<std::shared_ptr<Job>> to_log_, to_deal_;
  Shared shared_;  // of the record that is being written
  std::deque<Waiter> waiters_;
  Lane lanes_[kLanes];
  ClientTable clients_;       // as of last_lsn_
  ClientTable done_clients_;  // as of done_lsn_, where memory lasts
  uint64_t last_lsn_ = 0, done_lsn_ = 0;
  uint64_t pending_bytes_ = 0, log_bytes_ = 0;
  bool stopping_ = false;
  std::string waiting_for_, failed_;
  std::string trim_trouble_;  // the log thread's: why the log could not be cut last
  std::vector<std::thread> threads_;
};

}  // namespace graphd::store
