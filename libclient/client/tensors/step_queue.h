// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <chrono>
#include <cstdint>
#include <deque>
#include <exception>
#include <memory>
#include <thread>
#include <vector>

#include "base/threads/mutex.h"
#include "client/tensors/table_change.h"
#include "graphd/dist_embedding.h"

namespace graphd {

// A PendingStep is a step of an optimiser while it is being sent. It has a change for each table,
// and the gradients that the changes refer to.
struct PendingStep {
  std::deque<DistEmbedding::Gradients> gradients;  // a deque, because its elements must not move
  std::vector<DistEmbedding*> of;                  // owners of the gradients
  std::vector<TableChange> changes;
  std::chrono::milliseconds timeout{0};

  // Does the part of Send that can be done while earlier steps are still being sent. Throws as
  // PrepareChanges does.
  void Prepare();
  void Send();

 private:
  std::vector<TableChange*> AllChanges();
};

// A queue that sends steps one after another: in the caller's thread or, if steps may still run
// when the caller continues, in a thread of its own. A failed step stays at the head, with its
// progress, and is sent again before all others. One thread at a time may call its functions.
class StepQueue {
 public:
  explicit StepQueue(int staleness);
  // Waits for the running step; steps that fail or have failed are lost. In a forked child the
  // queue must be abandoned instead.
  ~StepQueue();
  StepQueue(const StepQueue&) = delete;
  StepQueue& operator=(const StepQueue&) = delete;

  // Must be called before the next step. If a background step has failed and its error was not
  // thrown yet, throws the error. Otherwise a failed step is sent again: without staleness, in this
  // call, which returns whether there was a failed step; with staleness, in the background, and the
  // call returns false.
  bool Resume();
  // Adds a step and throws its error, unless it is sent in the background.
  void Add(std::unique_ptr<PendingStep> step);
  // Waits until all steps are done. Throws the error of a failed step once; another call sends the
  // step again.
  void Wait();

 private:
  bool SendAll(std::unique_ptr<PendingStep> last = nullptr) GRAPHD_NO_THREAD_SAFETY_ANALYSIS;
  void ThrowFailure() GRAPHD_REQUIRES(mutex_);
  void Work();

  const size_t staleness_;
  Mutex mutex_;
  CondVar changed_;
  std::deque<std::unique_ptr<PendingStep>> steps_ GRAPHD_GUARDED_BY(mutex_);
  std::exception_ptr failure_ GRAPHD_GUARDED_BY(mutex_);  // the error to report
  bool paused_ GRAPHD_GUARDED_BY(mutex_) = false;         // the step at the head failed
  bool stopping_ GRAPHD_GUARDED_BY(mutex_) = false;
  std::thread worker_;  // only with staleness
};

}  // namespace graphd
