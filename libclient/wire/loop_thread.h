// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <kj/async-io.h>

#include <functional>
#include <mutex>
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

  // From threads with an event loop: how functions get onto this one.
  const kj::Executor& executor() const { return *executor_; }
  // From any other thread: runs f on the loop and waits for it. Everything before is visible to f,
  // and f to everything after, also to tools that can't see into KJ's own locks.
  template <class F>
  void RunAndWait(F f) {
    Publish();
    executor_->executeSync([&] {
      Publish();
      f();
      Publish();
    });
    Publish();
  }
  // On the loop's thread only.
  kj::LowLevelAsyncIoProvider& provider() { return *provider_; }
  kj::Timer& timer() { return *timer_; }

 private:
  void Publish() { std::lock_guard lock(handoff_); }

  std::mutex handoff_;  // guards nothing: its order of locking is what counts
  // Set by the thread before the constructor returns.
  kj::Own<const kj::Executor> executor_;
  kj::LowLevelAsyncIoProvider* provider_ = nullptr;
  kj::Timer* timer_ = nullptr;
  kj::Own<kj::CrossThreadPromiseFulfiller<void>> stop_;
  std::thread thread_;
};

}  // namespace graphd
