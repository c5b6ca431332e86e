// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <chrono>
#include <condition_variable>
#include <cstdint>
#include <deque>
#include <exception>
#include <memory>
#include <mutex>
#include <thread>
#include <vector>

#include "client/tensors/table_change.h"
#include "graphd/dist_embedding.h"

namespace graphd {

// One step of an optimiser on its way: a change of each table, and the gradients that they show.
struct PendingStep {
  std::deque<DistEmbedding::Gradients> gradients;  // does not move them
  std::vector<DistEmbedding*> of;                  // whose they are
  std::vector<TableChange> changes;
  std::chrono::milliseconds timeout{0};

  // Does what can be done of Send before its turn. Throws as PrepareChanges.
  void Prepare();
  void Send();

 private:
  std::vector<TableChange*> AllChanges();
};

// Steps in their order, one after another: in the caller's thread or, if some may be under way when
// the caller goes on, in one of the queue's own. A step that fails stays at the head, with what it
// knows of itself, and nothing passes it: it is sent again first. Calls come from one thread at a
// time.
class StepQueue {
 public:
  explicit StepQueue(int staleness);
  // Waits for what is under way; what fails, or has failed, is lost.
  ~StepQueue();
  StepQueue(const StepQueue&) = delete;
  StepQueue& operator=(const StepQueue&) = delete;

  // Before the next step. Throws what went wrong with one in the background; otherwise has a step
  // that failed sent again. Without staleness it is done then, and the result is whether there was
  // one.
  bool Resume();
  // Throws what goes wrong with it, unless that happens in the background.
  void Add(std::unique_ptr<PendingStep> step);
  // Returns when all are done. Throws what went wrong, once; called again, it tries again.
  void Wait();

 private:
  void SendAll();
  void ThrowFailure(std::unique_lock<std::mutex>& lock);
  void Work();

  const size_t staleness_;
  std::mutex mutex_;  // guards the rest
  std::condition_variable changed_;
  std::deque<std::unique_ptr<PendingStep>> steps_;
  std::exception_ptr failure_;  // to be told
  bool paused_ = false;         // the head failed
  bool stopping_ = false;
  std::thread worker_;  // with staleness only
};

}  // namespace graphd
