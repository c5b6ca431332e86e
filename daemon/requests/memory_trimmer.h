// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <chrono>
#include <cstddef>
#include <memory>
#include <utility>

#include "wire/memory/buffer_pool.h"

namespace graphd {

// The task of the main thread that returns free heap memory and idle buffers to the system.
class MemoryTrimmer {
 public:
  // The period at which Run() is called.
  static constexpr std::chrono::seconds kPeriod{5};
  // The time after which idle buffers are unmapped. It is longer than the pause between two epochs
  // of a training job, because the next epoch needs the buffers again.
  static constexpr std::chrono::seconds kIdleTime{10};

  explicit MemoryTrimmer(std::shared_ptr<BufferPool> buffers) : buffers_(std::move(buffers)) {}

  void Run();

 private:
  const std::shared_ptr<BufferPool> buffers_;
  int runs_since_trim_ = 0;
  size_t untrimmable_ = 0;  // the least number of free heap bytes since the last trim
};

}  // namespace graphd
