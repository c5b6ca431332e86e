// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <kj/async.h>

#include <functional>
#include <memory>
#include <string>
#include <thread>
#include <vector>

#include "base/fair_queue.h"
#include "base/recent_jobs.h"
#include "base/threads/mutex.h"
#include "sampling/hop_sampler.h"

namespace graphd {

// Buffers that each computing thread reuses.
struct WorkerScratch {
  HopSampler hop_sampler;
  std::vector<int64_t> rows, ids, streams;
  std::vector<double> real_times;
};

// A pool of threads for work that would keep a data thread from its connections for too long. Work
// comes in slices. Jobs share the threads' time by their weights (FairQueue), however many requests
// each of them has; while several jobs use the pool, each leaves one thread to the others. The
// requests of a job take turns slice by slice, so that a large one delays a small one by one slice
// at most. Thread-safe; one mutex, held to take or put a slice.
class ComputePool {
 public:
  using Slice = std::function<void(size_t slice, WorkerScratch& scratch)>;

  // At most `max_queued` requests of a job may wait; Run refuses more with Error(kOverloaded).
  // `name` names the threads (WatchedThread).
  ComputePool(const std::string& name, size_t num_threads, size_t max_queued);
  ~ComputePool();
  ComputePool(const ComputePool&) = delete;
  ComputePool& operator=(const ComputePool&) = delete;

  // Calls run(0) .. run(num_slices-1) on the pool's threads, for the job with this number
  // (JobRegistry::Membership::job_number). The promise, on the calling thread's
  // event loop, is fulfilled when the last call has returned, or fails with the first exception
  // that a call has thrown. `run` must own all it touches: the promise may be dropped while slices
  // still run.
  kj::Promise<void> Run(const JobShare& job, size_t num_slices, Slice run);

  // Lets running slices end, fails waiting requests with Error(kUnavailable), and joins the
  // threads. Idempotent.
  void Stop();
  size_t num_threads() const noexcept { return num_threads_; }
  // Returns the number of requests with slices that wait for a thread.
  size_t num_waiting() const {
    const MutexLock lock(mutex_);
    return queue_.size();
  }

 private:
  struct Request;
  void Work(const std::string& name);
  uint64_t NextJob() GRAPHD_REQUIRES(mutex_);

  mutable Mutex mutex_;
  CondVar wake_;
  FairQueue<std::shared_ptr<Request>> queue_ GRAPHD_GUARDED_BY(mutex_);
  bool stopping_ GRAPHD_GUARDED_BY(mutex_) = false;
  RecentJobs recent_ GRAPHD_GUARDED_BY(mutex_);
  const size_t max_queued_;
  const size_t num_threads_;
  std::vector<std::thread> threads_;
};

}  // namespace graphd
