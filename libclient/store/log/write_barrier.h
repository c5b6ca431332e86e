// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <chrono>
#include <condition_variable>
#include <cstdint>
#include <deque>
#include <memory>
#include <mutex>
#include <string>
#include <thread>

#include "store/log/pipeline.h"

// Where pushes wait while a checkpoint is taken: in the order in which they came, up to a bound. It
// knows nothing of what they change. Thread-safe.

namespace graphd::store {

class WriteBarrier {
 public:
  // `max_bytes` of pushes may wait, `pipeline` outlives it.
  WriteBarrier(Pipeline& pipeline, uint64_t max_bytes)
      : pipeline_(pipeline), max_bytes_(max_bytes) {}

  // As Pipeline::Submit; while the gate is shut the push waits, and what Pipeline::Submit would
  // throw comes to `done`. Throws Error(kOverloaded) if too much waits already.
  void Submit(std::shared_ptr<Table> table, const Push& push, Pipeline::Done done);

  // No push comes in any more, and all that did are done when it returns. Throws
  // Error(kOverloaded) if the gate is shut already, Error(kIo) if the log has failed.
  void Shut();
  // Those that wait go first.
  void Open();

 private:
  struct Waiting {
    std::shared_ptr<Table> table;
    Push push;
    Pipeline::Done done;
  };

  Pipeline& pipeline_;
  const uint64_t max_bytes_;
  std::mutex mutex_;
  std::condition_variable idle_;
  bool shut_ = false;
  uint64_t inside_ = 0;  // calls of Pipeline::Submit
  uint64_t waiting_bytes_ = 0;
  std::deque<Waiting> waiting_;
};

// Keeps a gate shut while it lives, but no longer than `limit`: a checkpoint whose maker is stuck
// must not stop training.
class WriteBarrierHold {
 public:
  WriteBarrierHold(WriteBarrier& gate, std::chrono::milliseconds limit);
  ~WriteBarrierHold();
  WriteBarrierHold(const WriteBarrierHold&) = delete;
  WriteBarrierHold& operator=(const WriteBarrierHold&) = delete;

  // Throws Error(kDeadline) if it has let go.
  void CheckHeld() const;

 private:
  WriteBarrier& gate_;
  const std::chrono::milliseconds limit_;
  mutable std::mutex mutex_;
  std::condition_variable wake_;
  bool released_ = false, expired_ = false;
  std::thread watch_;
};

}  // namespace graphd::store
