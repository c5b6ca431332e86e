// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>

#include "base/clock.h"
#include "base/fair_queue.h"
#include "base/threads/mutex.h"
#include "store/log/pipeline.h"

namespace graphd {

// Passes the pushes of all jobs to the store, which does them in the order in which it gets them.
// While several jobs push, each has only a push or a few small ones in the store, and the others
// wait here, so that a push waits for little of what other jobs have sent; jobs share the bytes
// pushed evenly. Pushes of one job stay in order. Thread-safe: one mutex, not held while the store
// is called.
class FairPushes : public std::enable_shared_from_this<FairPushes> {
 public:
  using Done = store::Pipeline::Done;
  // Passes a push to the store. Calls `done` when it is done, or throws. Must not wait.
  using Submit = std::function<void(Done done)>;

  // A job's bytes that the store may have at a time while no other job pushes, and while others do;
  // a single push may be larger.
  static constexpr size_t kAloneBytes = size_t{32} << 20;
  static constexpr size_t kSharedBytes = size_t{1} << 20;
  // Jobs push beside one another if their last pushes are no further apart than this: a trainer
  // computes between two steps.
  static constexpr double kRecentSeconds = 2;

  FairPushes() = default;
  FairPushes(const FairPushes&) = delete;
  FairPushes& operator=(const FairPushes&) = delete;

  // Calls submit(done) at once or later, from this thread or one that has done another push. Passes
  // the errors that it throws to `done`.
  void Run(const JobShare& job, size_t bytes, Submit submit, Done done);

  // Fails the pushes that wait, and all later ones, with Error(kUnavailable).
  void Stop();

 private:
  struct Waiting {
    size_t bytes;
    Submit submit;
    Done done;
  };
  struct InStore {
    size_t pushes = 0, bytes = 0;
    Clock::time_point last;
  };
  using Turn = FairQueue<std::shared_ptr<Waiting>>::Turn;

  bool MayRun(uint64_t job, bool alone) GRAPHD_REQUIRES(mutex_);
  void ForgetIdle() GRAPHD_REQUIRES(mutex_);
  void SubmitNext();
  void End(const Turn& turn, size_t bytes);

  Mutex mutex_;
  FairQueue<std::shared_ptr<Waiting>> waiting_ GRAPHD_GUARDED_BY(mutex_);
  std::map<uint64_t, InStore> recent_ GRAPHD_GUARDED_BY(mutex_);  // jobs that push
  bool submitting_ GRAPHD_GUARDED_BY(mutex_) = false;             // a thread is in SubmitNext()
  bool stopped_ GRAPHD_GUARDED_BY(mutex_) = false;
};

}  // namespace graphd
