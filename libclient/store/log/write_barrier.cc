// SPDX-License-Identifier: Apache-2.0
#include "store/log/write_barrier.h"

#include <algorithm>
#include <utility>

#include "base/failure.h"
#include "base/log.h"
#include "base/strings.h"
#include "base/threads/watched_thread.h"

namespace graphd::store {
namespace {

using std::chrono::duration;
using std::chrono::milliseconds;

// Returns the bytes that a waiting push counts for. They are no fewer than the pipeline counts, so
// that all waiting pushes fit into the pipeline.
uint64_t WaitingBytes(const Push& push) {
  return push.payload.size() + push.rows.size_bytes() + 256;
}

// Returns seconds for a message.
double Seconds(Clock::duration time) {
  return static_cast<double>(std::chrono::ceil<duration<int64_t, std::deci>>(time).count()) / 10;
}

}  // namespace

void WriteBarrier::Submit(std::shared_ptr<Table> table, const Push& push, Pipeline::Done done) {
  const uint64_t bytes = WaitingBytes(push);
  {
    const MutexLock lock(mutex_);
    if (closed_) {
      if (waiting_bytes_ > 0 && waiting_bytes_ + bytes > max_bytes_) {
        Throw(ErrorCode::kOverloaded, "pushes of ", HumanBytes(waiting_bytes_),
              " wait already while a checkpoint is taken; try again");
      }
      waiting_.push_back({std::move(table), push, std::move(done)});
      waiting_bytes_ += bytes;
      if (!first_wait_) {
        first_wait_ = Clock::now();
        changed_.NotifyAll();
      }
      return;
    }
    submitting_++;
  }
  // The mutex is not held here, because Pipeline::Submit may read from the disk, and call `done`.
  const auto leave = [this](void*) {
    const MutexLock lock(mutex_);
    if (--submitting_ == 0) changed_.NotifyAll();
  };
  const std::unique_ptr<void, decltype(leave)> guard(this, leave);
  pipeline_.Submit(std::move(table), push, std::move(done));
}

Clock::duration WriteBarrier::PauseFor(const std::string& job) const {
  const Clock::duration pause = job == job_ ? 2 * waited_ : waited_;
  return std::max(opened_ + pause - Clock::now(), Clock::duration::zero());
}

milliseconds WriteBarrier::TimeToNextHold(const std::string& job) const {
  const MutexLock lock(mutex_);
  if (closed_) return milliseconds::zero();
  return std::chrono::ceil<milliseconds>(PauseFor(job));
}

void WriteBarrier::Close(const HoldOptions& options) {
  const MutexLock lock(mutex_);
  if (closed_) {
    Throw(ErrorCode::kOverloaded, "another checkpoint is being taken, by ", holder_, "; try again");
  }
  if (const Clock::duration pause = PauseFor(options.job); pause > Clock::duration::zero()) {
    Throw(ErrorCode::kOverloaded, "pushes waited ", Seconds(waited_),
          " s for the last checkpoint, by ", holder_, "; the next one may be taken in ",
          Seconds(pause), " s");
  }
  job_ = options.job;
  holder_ = options.holder;
  first_wait_.reset();
  closed_ = true;
}

void WriteBarrier::Open() noexcept {
  // New pushes have to wait until the queue is empty. Otherwise a client's next push could overtake
  // an earlier one, which would then look like a repetition.
  for (;;) {
    Waiting next;
    {
      const MutexLock lock(mutex_);
      if (waiting_.empty()) {
        closed_ = false;
        opened_ = Clock::now();
        waited_ = first_wait_ ? opened_ - *first_wait_ : Clock::duration::zero();
        return;
      }
      next = std::move(waiting_.front());
      waiting_.pop_front();
      waiting_bytes_ -= WaitingBytes(next.push);
    }
    try {
      pipeline_.Submit(std::move(next.table), next.push, next.done);
    } catch (...) {
      const Error error = CurrentError();
      LogFailure("the end of a push", [&] { next.done(&error); });
    }
  }
}

WriteBarrierHold::WriteBarrierHold(WriteBarrier& barrier, HoldOptions options)
    : barrier_(barrier), options_(std::move(options)) {
  barrier_.Close(options_);
  try {
    timer_ = std::thread([this] {
      const bool watched = LogFailure("the hold of a checkpoint", [this] {
        const WatchedThread watched("hold");
        Watch();
      });
      if (!watched) GiveUp();
      barrier_.Open();
    });
  } catch (...) {
    barrier_.Open();
    throw;
  }
  try {
    AwaitEarlierPushes();
  } catch (...) {
    Release();
    throw;
  }
}

void WriteBarrierHold::AwaitEarlierPushes() {
  {
    const MutexLock lock(barrier_.mutex_);
    // The wait also ends when the hold has expired, because new pushes are submitted then, and
    // there may never be a time without one.
    while (barrier_.submitting_ != 0 && expired_.empty() && !gave_up_) {
      barrier_.changed_.Wait(barrier_.mutex_);
    }
  }
  CheckHeld();
  barrier_.pipeline_.WaitDone(barrier_.pipeline_.Snapshot(nullptr));
  CheckHeld();
}

void WriteBarrierHold::GiveUp() noexcept {
  {
    const MutexLock lock(barrier_.mutex_);
    gave_up_ = true;
  }
  barrier_.changed_.NotifyAll();
}

void WriteBarrierHold::Watch() {
  const Clock::time_point end = Clock::now() + options_.limit;
  std::string why;
  MutexLock lock(barrier_.mutex_);
  while (!released_ && why.empty()) {
    const auto first = barrier_.first_wait_;
    const Clock::time_point next = first ? std::min(end, *first + options_.push_limit) : end;
    if (Clock::now() < next) {
      barrier_.changed_.WaitUntil(barrier_.mutex_, next);
    } else {
      why = expired_ = WhyExpired();
      barrier_.changed_.NotifyAll();
    }
  }
  lock.Unlock();
  if (!why.empty()) LogError(why, "; the pushes continue, and the checkpoint fails");
}

std::string WriteBarrierHold::WhyExpired() const {
  const auto first = barrier_.first_wait_;
  if (!first) {
    return StrCat("a checkpoint by ", options_.holder, " held pushes for ", Seconds(options_.limit),
                  " s and was not finished");
  }
  return StrCat("pushes waited ", Seconds(Clock::now() - *first), " s for a checkpoint by ",
                options_.holder, " that was not finished");
}

void WriteBarrierHold::Release() noexcept {
  {
    const MutexLock lock(barrier_.mutex_);
    released_ = true;
  }
  barrier_.changed_.NotifyAll();
  timer_.join();
}

void WriteBarrierHold::CheckHeld() const {
  const MutexLock lock(barrier_.mutex_);
  if (gave_up_) {
    Throw(ErrorCode::kOverloaded, "memory has run out while pushes waited for a checkpoint");
  }
  if (expired_.empty()) return;
  Throw(ErrorCode::kDeadline, expired_, " (at most ", Seconds(options_.push_limit),
        " s are allowed, or ", Seconds(options_.limit),
        " s while there are no pushes); try again when the disks have less to do, or fewer tensors "
        "change");
}

}  // namespace graphd::store
