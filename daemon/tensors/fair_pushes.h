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

// The queue through which the pushes of all jobs are passed to the store, which applies them in the
// order in which it gets them. While several jobs push, each of them has only one push, or a few
// small ones, in the store, and its other pushes wait here. A push therefore waits for little data
// of other jobs, and jobs share the rate of pushed bytes by their weights (FairQueue). Pushes of
// one job stay in order. Thread-safe: one mutex, which is not held while the store is called.
class FairPushes : public std::enable_shared_from_this<FairPushes> {
 public:
  using Done = store::Pipeline::Done;
  // Passes a push to the store, which calls `done` when the push is done. May throw instead. Must
  // not wait.
  using Submit = std::function<void(Done done)>;

  // The maximum bytes of a job's pushes in the store: kAloneBytes while no other job pushes, else
  // kSharedBytes. A single push may be larger.
  static constexpr size_t kAloneBytes = size_t{32} << 20;
  static constexpr size_t kSharedBytes = size_t{1} << 20;
  // A job counts as pushing until this time after its last push has passed, because a trainer
  // computes between two steps.
  static constexpr double kRecentSeconds = 2;

  FairPushes() = default;
  FairPushes(const FairPushes&) = delete;
  FairPushes& operator=(const FairPushes&) = delete;

  // Calls submit(done) at once or later, from this thread or from a thread that has completed
  // another push. Errors that `submit` throws are passed to `done`.
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
  void End(const Turn& turn, const Waiting& push, const Error* error) noexcept;

  Mutex mutex_;
  FairQueue<std::shared_ptr<Waiting>> waiting_ GRAPHD_GUARDED_BY(mutex_);
  std::map<uint64_t, InStore> recent_ GRAPHD_GUARDED_BY(mutex_);  // jobs that push
  bool submitting_ GRAPHD_GUARDED_BY(mutex_) = false;             // a thread is in SubmitNext()
  bool stopped_ GRAPHD_GUARDED_BY(mutex_) = false;
};

}  // namespace graphd
