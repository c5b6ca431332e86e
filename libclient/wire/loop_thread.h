// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <kj/async-io.h>

#include <functional>
#include <thread>

namespace graphd {

// A thread with a KJ event loop of its own, until the object dies. What is made on the loop must be
// gone before that; destroying it runs `last` on the loop first.
class LoopThread {
 public:
  explicit LoopThread(std::function<void()> last = nullptr);
  ~LoopThread();
  LoopThread(const LoopThread&) = delete;
  LoopThread& operator=(const LoopThread&) = delete;

  // From any thread: how functions get onto the loop.
  const kj::Executor& executor() const { return *executor_; }
  // On the loop's thread only.
  kj::LowLevelAsyncIoProvider& provider() { return *provider_; }
  kj::Timer& timer() { return *timer_; }

 private:
  // Set by the thread before the constructor returns.
  kj::Own<const kj::Executor> executor_;
  kj::LowLevelAsyncIoProvider* provider_ = nullptr;
  kj::Timer* timer_ = nullptr;
  kj::Own<kj::CrossThreadPromiseFulfiller<void>> stop_;
  std::thread thread_;
};

}  // namespace graphd
