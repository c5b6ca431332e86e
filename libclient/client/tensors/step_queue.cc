// SPDX-License-Identifier: Apache-2.0
#include "client/tensors/step_queue.h"

#include <utility>

#include "base/interruptions.h"
#include "base/log.h"

namespace graphd {

std::vector<TableChange*> PendingStep::AllChanges() {
  std::vector<TableChange*> all;
  for (TableChange& change : changes) all.push_back(&change);
  return all;
}

void PendingStep::Prepare() { PrepareChanges(AllChanges()); }

void PendingStep::Send() {
  SendChanges(AllChanges(), timeout);
  for (size_t i = 0; i < of.size(); i++) of[i]->Recycle(std::move(gradients[i]));
}

StepQueue::StepQueue(int staleness) : staleness_(static_cast<size_t>(staleness)) {
  if (staleness > 0) worker_ = std::thread([this] { Work(); });
}

StepQueue::~StepQueue() {
  if (worker_.joinable()) {
    {
      const MutexLock lock(mutex_);
      stopping_ = true;
    }
    changed_.NotifyAll();
    worker_.join();
  }
  if (!steps_.empty()) {
    LogWarning("an optimiser ends with ", steps_.size(), " steps that were not applied in full");
  }
}

// Sends all steps in the caller's thread, `last` after the others. Returns whether there were
// others. May be called only without staleness: only the caller's thread uses the queue then, so
// the lock is not needed.
bool StepQueue::SendAll(std::unique_ptr<PendingStep> last) {
  const bool failed = !steps_.empty();
  if (last) steps_.push_back(std::move(last));
  while (!steps_.empty()) {
    steps_.front()->Send();
    steps_.pop_front();
  }
  return failed;
}

bool StepQueue::Resume() {
  if (staleness_ == 0) return SendAll();
  const MutexLock lock(mutex_);
  ThrowFailure();
  paused_ = false;
  changed_.NotifyAll();
  return false;
}

void StepQueue::Add(std::unique_ptr<PendingStep> step) {
  if (staleness_ == 0) {
    SendAll(std::move(step));
    return;
  }
  std::exception_ptr interrupted;
  try {
    step->Prepare();
  } catch (...) {
    interrupted = std::current_exception();
  }
  const MutexLock lock(mutex_);
  steps_.push_back(std::move(step));
  changed_.NotifyAll();
  if (interrupted) std::rethrow_exception(interrupted);
  while (steps_.size() > staleness_ && !paused_) AwaitChange(changed_, mutex_);
}

void StepQueue::Wait() {
  if (staleness_ == 0) {
    SendAll();
    return;
  }
  const MutexLock lock(mutex_);
  ThrowFailure();
  paused_ = false;
  changed_.NotifyAll();
  while (!steps_.empty() && !paused_) AwaitChange(changed_, mutex_);
  ThrowFailure();
}

void StepQueue::ThrowFailure() {
  if (failure_) std::rethrow_exception(std::exchange(failure_, nullptr));
}

void StepQueue::Work() {
  MutexLock lock(mutex_);
  for (;;) {
    while (!stopping_ && (steps_.empty() || paused_)) changed_.Wait(mutex_);
    if (steps_.empty() || paused_) return;
    PendingStep& step = *steps_.front();
    lock.Unlock();
    std::exception_ptr failure;
    try {
      step.Send();
    } catch (...) {
      failure = std::current_exception();
    }
    lock.Lock();
    if (failure) {
      failure_ = failure;
      paused_ = true;
    } else {
      steps_.pop_front();
    }
    changed_.NotifyAll();
  }
}

}  // namespace graphd
