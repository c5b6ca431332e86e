// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <chrono>
#include <cstddef>
#include <memory>
#include <utility>

#include "wire/buffer_pool.h"

namespace graphd {

// Returns free heap memory and idle buffers to the system. Used by the main thread.
class MemoryTrimmer {
 public:
  // Run() is called once per period.
  static constexpr std::chrono::seconds kPeriod{5};
  // Buffers that were idle for this time are unmapped: longer than the pause between two epochs of
  // a training job, in which the next one would need them again.
  static constexpr std::chrono::seconds kIdleTime{10};

  explicit MemoryTrimmer(std::shared_ptr<BufferPool> buffers) : buffers_(std::move(buffers)) {}

  void Run();

 private:
  const std::shared_ptr<BufferPool> buffers_;
  int runs_since_trim_ = 0;
  size_t untrimmable_ = 0;  // free bytes of the heap after it was trimmed, or fewer
};

}  // namespace graphd
