// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <chrono>
#include <cstdint>
#include <deque>
#include <memory>
#include <optional>
#include <string>
#include <thread>

#include "base/clock.h"
#include "base/threads/mutex.h"
#include "store/log/pipeline.h"

// The barrier between pushes and a pipeline. It lets pushes pass or, while a checkpoint is taken,
// makes them wait in order. The size of the pushes that wait is bounded. Thread-safe.

namespace graphd::store {

// The holder of a hold, which keeps the barrier closed, and the limits of the hold.
struct HoldOptions {
  std::string job = "";             // a job waits longer after a hold of its own than others do
  std::string holder = "somebody";  // for errors: "job 7 (10.0.0.3:40112)"
  std::chrono::milliseconds limit = std::chrono::minutes(1);
  // The time that a push may wait for the hold.
  std::chrono::milliseconds push_limit = std::chrono::seconds(5);
};

class WriteBarrier {
 public:
  // Pushes of at most `max_bytes` in total, or a single larger one, may wait. `pipeline` must
  // outlive the barrier.
  WriteBarrier(Pipeline& pipeline, uint64_t max_bytes)
      : pipeline_(pipeline), max_bytes_(max_bytes) {}

  // Calls Pipeline::Submit. While the barrier is closed, the push waits, and later errors of
  // Pipeline::Submit are passed to `done`. This function itself then throws only
  // Error(kOverloaded), if too much waits already.
  void Submit(std::shared_ptr<Table> table, const Push& push, Pipeline::Done done);

  // Returns the time until this job may hold pushes, if no hold is active now. After a hold, pushes
  // pass for at least as long as they waited for that hold before another job may hold them, and
  // for twice as long before the same job may. So pushes pass for at least half of the time, and a
  // job that holds pushes again and again leaves room for the holds of other jobs.
  std::chrono::milliseconds TimeToNextHold(const std::string& job) const;

 private:
  friend class WriteBarrierHold;
  struct Waiting {
    std::shared_ptr<Table> table;
    Push push;
    Pipeline::Done done;
  };

  Clock::duration PauseFor(const std::string& job) const GRAPHD_REQUIRES(mutex_);
  // Closes the barrier. Throws Error(kOverloaded) if the barrier is closed, or was closed a short
  // while ago.
  void Close(const HoldOptions& options);
  // Submits the pushes that wait, and then opens the barrier.
  void Open() noexcept;

  Pipeline& pipeline_;
  const uint64_t max_bytes_;
  mutable Mutex mutex_;  // not held during calls of the pipeline
  // Notified when a first push waits, when all calls of Pipeline::Submit have returned, and when a
  // hold is released or has expired.
  CondVar changed_;
  bool closed_ GRAPHD_GUARDED_BY(mutex_) = false;
  // Calls of Pipeline::Submit that have not returned.
  uint64_t submitting_ GRAPHD_GUARDED_BY(mutex_) = 0;
  uint64_t waiting_bytes_ GRAPHD_GUARDED_BY(mutex_) = 0;
  std::deque<Waiting> waiting_ GRAPHD_GUARDED_BY(mutex_);
  // The present hold, or the last one.
  std::string job_ GRAPHD_GUARDED_BY(mutex_), holder_ GRAPHD_GUARDED_BY(mutex_);
  // The arrival of the first push that has to wait for the present hold.
  std::optional<Clock::time_point> first_wait_ GRAPHD_GUARDED_BY(mutex_);
  Clock::time_point opened_ GRAPHD_GUARDED_BY(mutex_);
  Clock::duration waited_ GRAPHD_GUARDED_BY(mutex_){};  // wait of the last hold's first push
};

// A hold, which keeps a barrier closed while this object exists, but no longer than its options
// say, because a checkpoint that makes no progress must not stop training.
class WriteBarrierHold {
 public:
  // Closes the barrier and waits until the pushes that have passed are done. Throws Error:
  // kOverloaded if there is another hold, if the last hold was a short while ago
  // (WriteBarrier::TimeToNextHold) or if the disk is full; kDeadline if pushes had to wait for too
  // long meanwhile; kIo if the log has failed. After an error, the barrier is open, or closed by
  // the other hold.
  WriteBarrierHold(WriteBarrier& barrier, HoldOptions options);
  ~WriteBarrierHold() { Release(); }
  WriteBarrierHold(const WriteBarrierHold&) = delete;
  WriteBarrierHold& operator=(const WriteBarrierHold&) = delete;

  // Throws Error(kDeadline) if a limit has passed and the barrier was opened, and
  // Error(kOverloaded) if it was opened because memory had run out.
  void CheckHeld() const;

 private:
  void AwaitEarlierPushes();
  // Waits until the hold has to end.
  void Watch();
  std::string WhyExpired() const GRAPHD_REQUIRES(barrier_.mutex_);
  // Makes CheckHeld fail, before the barrier is opened without a reason.
  void GiveUp() noexcept;
  void Release() noexcept;

  WriteBarrier& barrier_;
  const HoldOptions options_;
  bool released_ GRAPHD_GUARDED_BY(barrier_.mutex_) = false;
  std::string expired_ GRAPHD_GUARDED_BY(barrier_.mutex_);   // the reason; empty: not expired
  bool gave_up_ GRAPHD_GUARDED_BY(barrier_.mutex_) = false;  // for lack of memory
  std::thread timer_;
};

}  // namespace graphd::store
