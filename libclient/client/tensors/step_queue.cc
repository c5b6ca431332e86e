// SPDX-License-Identifier: Apache-2.0
#include "client/tensors/step_queue.h"

#include <utility>

#include "base/interrupt.h"
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
      std::lock_guard lock(mutex_);
      stopping_ = true;
    }
    changed_.notify_all();
    worker_.join();
  }
  if (!steps_.empty()) {
    LogWarning("an optimiser ends with ", steps_.size(), " steps that were not applied in full");
  }
}

// Sends all steps in the caller's thread, without staleness.
void StepQueue::SendAll() {
  while (!steps_.empty()) {
    steps_.front()->Send();
    steps_.pop_front();
  }
}

bool StepQueue::Resume() {
  if (staleness_ == 0) {
    const bool failed = !steps_.empty();
    SendAll();
    return failed;
  }
  std::unique_lock lock(mutex_);
  ThrowFailure(lock);
  paused_ = false;
  changed_.notify_all();
  return false;
}

void StepQueue::Add(std::unique_ptr<PendingStep> step) {
  if (staleness_ == 0) {
    steps_.push_back(std::move(step));
    return SendAll();
  }
  std::exception_ptr interrupted;
  try {
    step->Prepare();
  } catch (...) {
    interrupted = std::current_exception();
  }
  std::unique_lock lock(mutex_);
  steps_.push_back(std::move(step));
  changed_.notify_all();
  if (interrupted) std::rethrow_exception(interrupted);
  Await(changed_, lock, [&] { return steps_.size() <= staleness_ || paused_; });
}

void StepQueue::Wait() {
  if (staleness_ == 0) return SendAll();
  std::unique_lock lock(mutex_);
  ThrowFailure(lock);
  paused_ = false;
  changed_.notify_all();
  Await(changed_, lock, [&] { return steps_.empty() || paused_; });
  ThrowFailure(lock);
}

void StepQueue::ThrowFailure(std::unique_lock<std::mutex>& lock) {
  if (!failure_) return;
  std::exception_ptr failure = std::exchange(failure_, nullptr);
  lock.unlock();
  std::rethrow_exception(failure);
}

void StepQueue::Work() {
  std::unique_lock lock(mutex_);
  for (;;) {
    changed_.wait(lock, [&] { return stopping_ || (!steps_.empty() && !paused_); });
    if (steps_.empty() || paused_) return;
    PendingStep& step = *steps_.front();
    lock.unlock();
    std::exception_ptr failure;
    try {
      step.Send();
    } catch (...) {
      failure = std::current_exception();
    }
    lock.lock();
    if (failure) {
      failure_ = failure;
      paused_ = true;
    } else {
      steps_.pop_front();
    }
    changed_.notify_all();
  }
}

}  // namespace graphd
