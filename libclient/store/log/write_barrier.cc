// SPDX-License-Identifier: Apache-2.0
#include "store/log/write_barrier.h"

#include "base/log.h"
#include "base/strings.h"

namespace graphd::store {
namespace {

// Not less than what a pipeline counts for it, so that all that waited finds room there.
uint64_t WaitingBytes(const Push& push) {
  return push.payload.size() + push.rows.size_bytes() + 256;
}

}  // namespace

void WriteBarrier::Submit(std::shared_ptr<Table> table, const Push& push, Pipeline::Done done) {
  const uint64_t bytes = WaitingBytes(push);
  {
    std::lock_guard lock(mutex_);
    if (shut_) {
      if (waiting_bytes_ > 0 && waiting_bytes_ + bytes > max_bytes_) {
        Throw(ErrorCode::kOverloaded, "pushes of ", HumanBytes(waiting_bytes_),
              " wait already while a checkpoint is taken; try again");
      }
      waiting_bytes_ += bytes;
      waiting_.push_back({std::move(table), push, std::move(done)});
      return;
    }
    inside_++;
  }
  // Not under the lock: it may read from the disk, and call `done`.
  const auto leave = [this](void*) {
    std::lock_guard lock(mutex_);
    if (--inside_ == 0) idle_.notify_all();
  };
  const std::unique_ptr<void, decltype(leave)> guard(this, leave);
  pipeline_.Submit(std::move(table), push, std::move(done));
}

void WriteBarrier::Shut() {
  {
    std::unique_lock lock(mutex_);
    if (shut_) {
      Throw(ErrorCode::kOverloaded, "another checkpoint is being taken; try again");
    }
    shut_ = true;
    idle_.wait(lock, [this] { return inside_ == 0; });
  }
  try {
    pipeline_.WaitDone(pipeline_.Cut(nullptr));
  } catch (const Error&) {
    Open();
    throw;
  }
}

void WriteBarrier::Open() {
  // New pushes go on waiting until the queue is empty, or a client's next push could overtake one
  // of its own and make it look like a repetition.
  for (;;) {
    Waiting next;
    {
      std::lock_guard lock(mutex_);
      if (waiting_.empty()) {
        shut_ = false;
        return;
      }
      next = std::move(waiting_.front());
      waiting_.pop_front();
      waiting_bytes_ -= WaitingBytes(next.push);
    }
    try {
      pipeline_.Submit(std::move(next.table), next.push, next.done);
    } catch (const Error& error) {
      next.done(&error);
    }
  }
}

WriteBarrierHold::WriteBarrierHold(WriteBarrier& gate, std::chrono::milliseconds limit)
    : gate_(gate), limit_(limit) {
  gate_.Shut();
  watch_ = std::thread([this] {
    {
      std::unique_lock lock(mutex_);
      expired_ = !wake_.wait_for(lock, limit_, [this] { return released_; });
      if (expired_) {
        LogError("pushes were held for ", limit_.count() / 1000,
                 " s by a checkpoint that did not come to its end; they go on without it");
      }
    }
    gate_.Open();
  });
}

WriteBarrierHold::~WriteBarrierHold() {
  {
    std::lock_guard lock(mutex_);
    released_ = true;
  }
  wake_.notify_all();
  watch_.join();
}

void WriteBarrierHold::CheckHeld() const {
  std::lock_guard lock(mutex_);
  if (expired_) {
    Throw(ErrorCode::kDeadline, "the checkpoint took longer than the ", limit_.count() / 1000,
          " s for which pushes may be held; try again when the disks have less to do");
  }
}

}  // namespace graphd::store
