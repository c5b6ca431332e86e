// SPDX-License-Identifier: Apache-2.0
#include "daemon/requests/compute_pool.h"

#include <chrono>
#include <exception>
#include <optional>
#include <utility>

#include "base/clock.h"
#include "base/failure.h"
#include "base/strings.h"
#include "base/threads/watched_thread.h"
#include "wire/connection.h"

namespace graphd {
namespace {

constexpr auto kLastThreadCheck = std::chrono::milliseconds(100);

}  // namespace

// The slices of one request. The pool's mutex guards `next`.
struct ComputePool::Request {
  Slice run;
  size_t num_slices = 0, next = 0;
  Mutex mutex;
  size_t done GRAPHD_GUARDED_BY(mutex) = 0;
  kj::Maybe<kj::Exception> failure GRAPHD_GUARDED_BY(mutex);
  kj::Own<kj::CrossThreadPromiseFulfiller<void>> fulfiller;

  void Finish(size_t slices, kj::Maybe<kj::Exception> error) {
    const MutexLock lock(mutex);
    done += slices;
    if (failure == nullptr) failure = kj::mv(error);
    if (done < num_slices) return;
    KJ_IF_MAYBE (exception, failure) {
      fulfiller->reject(kj::mv(*exception));
    } else {
      fulfiller->fulfill();
    }
  }
};

ComputePool::ComputePool(const std::string& name, size_t num_threads, size_t max_queued)
    : max_queued_(max_queued), num_threads_(num_threads) {
  try {
    for (size_t i = 0; i < num_threads; i++) {
      threads_.emplace_back([this, name = StrCat(name, " ", i)] {
        while (!LogFailure("a thread of a pool", [&] { Work(name); })) {
        }
      });
    }
  } catch (...) {
    Stop();
    throw;
  }
}

ComputePool::~ComputePool() { Stop(); }

kj::Promise<void> ComputePool::Run(const JobShare& job, size_t num_slices, Slice run) {
  if (num_slices == 0) return kj::READY_NOW;
  auto pair = kj::newPromiseAndCrossThreadFulfiller<void>();
  auto request = std::make_shared<Request>();
  request->run = std::move(run);
  request->num_slices = num_slices;
  request->fulfiller = kj::mv(pair.fulfiller);
  {
    const MutexLock lock(mutex_);
    if (stopping_) Throw(ErrorCode::kUnavailable, "this graphd is shutting down");
    if (const size_t waiting = queue_.size_of(job.job); waiting >= max_queued_) {
      Throw(ErrorCode::kOverloaded, waiting,
            job.job == 0 ? " calls of clients without a job wait already; try again later"
                         : " requests of this job wait already; try again, or raise --num_servers");
    }
    recent_.Note(job.job);
    queue_.Put(job, request);
  }
  num_slices == 1 ? wake_.NotifyOne() : wake_.NotifyAll();
  // Taking the lock orders the slices' writes before the caller's next steps. KJ does this, too,
  // but race detectors can't see its synchronisation.
  return pair.promise.then([request] { const MutexLock lock(request->mutex); });
}

// Returns the job whose slice is next, or kNone if no slice may run now.
uint64_t ComputePool::NextJob() {
  if (queue_.empty()) return queue_.kNone;
  const bool is_alone = recent_.is_alone() && queue_.num_active() < 2;
  return is_alone ? queue_.Next() : queue_.NextThatLeavesOne(num_threads_);
}

void ComputePool::Work(const std::string& name) {
  const WatchedThread watched(name);
  WorkerScratch scratch;
  std::optional<FairQueue<std::shared_ptr<Request>>::Turn> turn;
  Clock::time_point start;
  for (;;) {
    std::shared_ptr<Request> request;
    size_t slice;
    {
      const MutexLock lock(mutex_);
      if (turn) queue_.End(*std::exchange(turn, std::nullopt), SecondsSince(start));
      uint64_t job = NextJob();
      while (!stopping_ && job == queue_.kNone) {
        if (queue_.empty()) {
          wake_.Wait(mutex_);
        } else {
          // A job gets the last thread when the other jobs have not used the pool for a while.
          wake_.WaitFor(mutex_, kLastThreadCheck);
        }
        job = NextJob();
      }
      if (stopping_) return;
      request = queue_.Front(job);
      turn = queue_.Begin(job, request->next + 1 < request->num_slices);
      slice = request->next++;
    }
    start = Clock::now();
    WatchedThread::CountProgress();
    kj::Maybe<kj::Exception> failure;
    try {
      request->run(slice, scratch);
    } catch (const kj::Exception& exception) {
      failure = kj::cp(exception);
    } catch (...) {
      failure = ToKj(CurrentError());
    }
    LogFailure("the answer of a pool", [&] { request->Finish(1, kj::mv(failure)); });
  }
}

void ComputePool::Stop() {
  std::vector<std::shared_ptr<Request>> dropped;
  {
    const MutexLock lock(mutex_);
    stopping_ = true;
    queue_.Drain([&](const auto& request) { dropped.push_back(request); });
  }
  wake_.NotifyAll();
  for (const auto& request : dropped) {
    request->Finish(request->num_slices - request->next,
                    ToKj(Error(ErrorCode::kUnavailable, "this graphd is shutting down")));
  }
  for (std::thread& thread : threads_) {
    if (thread.joinable()) thread.join();
  }
}

}  // namespace graphd
