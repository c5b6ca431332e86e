// SPDX-License-Identifier: Apache-2.0
#include "store/log/write_barrier.h"

#include "base/failure.h"
#include "base/log.h"
#include "base/strings.h"

namespace graphd::store {
namespace {

// Counts at least what the pipeline counts for a push, so that all waiting pushes fit there.
uint64_t WaitingBytes(const Push& push) {
  return push.payload.size() + push.rows.size_bytes() + 256;
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
      waiting_bytes_ += bytes;
      waiting_.push_back({std::move(table), push, std::move(done)});
      return;
    }
    submitting_++;
  }
  // The lock is not held, because Submit may read from the disk, and call `done`.
  const auto leave = [this](void*) {
    const MutexLock lock(mutex_);
    if (--submitting_ == 0) idle_.NotifyAll();
  };
  const std::unique_ptr<void, decltype(leave)> guard(this, leave);
  pipeline_.Submit(std::move(table), push, std::move(done));
}

void WriteBarrier::Close() {
  {
    const MutexLock lock(mutex_);
    if (closed_) {
      Throw(ErrorCode::kOverloaded, "another checkpoint is being taken; try again");
    }
    closed_ = true;
    while (submitting_ != 0) idle_.Wait(mutex_);
  }
  try {
    pipeline_.WaitDone(pipeline_.Snapshot(nullptr));
  } catch (...) {
    Open();
    throw;
  }
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

WriteBarrierHold::WriteBarrierHold(WriteBarrier& barrier, std::chrono::milliseconds limit)
    : barrier_(barrier), limit_(limit) {
  barrier_.Close();
  try {
    timer_ = std::thread([this] {
      LogFailure("the hold of a checkpoint", [this] { Wait(); });
      barrier_.Open();
    });
  } catch (...) {
    barrier_.Open();
    throw;
  }
}

void WriteBarrierHold::Wait() {
  const auto end = std::chrono::steady_clock::now() + limit_;
  const MutexLock lock(mutex_);
  while (!released_ && wake_.WaitUntil(mutex_, end)) {
  }
  expired_ = !released_;
  if (expired_) {
    LogError("pushes were held for ", limit_.count() / 1000,
             " s by a checkpoint that was not finished; they continue without it");
  }
}

WriteBarrierHold::~WriteBarrierHold() {
  {
    const MutexLock lock(mutex_);
    released_ = true;
  }
  wake_.NotifyAll();
  timer_.join();
}

void WriteBarrierHold::CheckHeld() const {
  const MutexLock lock(mutex_);
  if (expired_) {
    Throw(ErrorCode::kDeadline, "the checkpoint took longer than the ", limit_.count() / 1000,
          " s for which pushes may be held; try again when the disks have less to do");
  }
}

}  // namespace graphd::store
