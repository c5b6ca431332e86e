// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <chrono>
#include <cstdint>
#include <deque>
#include <memory>
#include <string>
#include <thread>

#include "base/mutex.h"
#include "store/log/pipeline.h"

// Lets pushes pass to a pipeline, or makes them wait in order, up to a bound, while a checkpoint is
// taken. Thread-safe.

namespace graphd::store {

class WriteBarrier {
 public:
  // At most `max_bytes` of pushes wait. `pipeline` outlives the barrier.
  WriteBarrier(Pipeline& pipeline, uint64_t max_bytes)
      : pipeline_(pipeline), max_bytes_(max_bytes) {}

  // Calls Pipeline::Submit. While the barrier is closed, the push waits, and errors of that call
  // are passed to `done`; then it only throws Error(kOverloaded), if too much waits already.
  void Submit(std::shared_ptr<Table> table, const Push& push, Pipeline::Done done);

  // Closes the barrier and waits until the pushes that have passed are done. Throws Error:
  // kOverloaded if it is closed already or the disk is full, kIo if the log has failed; then it is
  // open, or stays as it was.
  void Close();
  // Submits the pushes that wait, and then opens the barrier.
  void Open() noexcept;

 private:
  struct Waiting {
    std::shared_ptr<Table> table;
    Push push;
    Pipeline::Done done;
  };

  Pipeline& pipeline_;
  const uint64_t max_bytes_;
  Mutex mutex_;  // not held during calls of the pipeline
  CondVar idle_;
  bool closed_ GRAPHD_GUARDED_BY(mutex_) = false;
  // Calls of Pipeline::Submit that have not returned.
  uint64_t submitting_ GRAPHD_GUARDED_BY(mutex_) = 0;
  uint64_t waiting_bytes_ GRAPHD_GUARDED_BY(mutex_) = 0;
  std::deque<Waiting> waiting_ GRAPHD_GUARDED_BY(mutex_);
};

// Keeps a barrier closed while it lives, but no longer than `limit`: a checkpoint that makes no
// progress must not stop training.
class WriteBarrierHold {
 public:
  // Closes the barrier. Throws as WriteBarrier::Close.
  WriteBarrierHold(WriteBarrier& barrier, std::chrono::milliseconds limit);
  ~WriteBarrierHold();
  WriteBarrierHold(const WriteBarrierHold&) = delete;
  WriteBarrierHold& operator=(const WriteBarrierHold&) = delete;

  // Throws Error(kDeadline) if the limit has passed and the barrier was opened.
  void CheckHeld() const;

 private:
  void Wait();

  WriteBarrier& barrier_;
  const std::chrono::milliseconds limit_;
  mutable Mutex mutex_;
  CondVar wake_;
  bool released_ GRAPHD_GUARDED_BY(mutex_) = false;
  bool expired_ GRAPHD_GUARDED_BY(mutex_) = false;
  std::thread timer_;
};

}  // namespace graphd::store
