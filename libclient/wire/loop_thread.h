// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <kj/async-io.h>
#include <kj/async-unix.h>

#include <functional>
#include <future>
#include <thread>

#include "base/threads/mutex.h"

namespace graphd {

// A thread that runs a KJ event loop until this object is destroyed. Objects that were created on
// the loop must be destroyed before the loop ends. The destructor therefore runs `last` on the
// loop.
class LoopThread {
 public:
  // Throws Error if the loop can't be made: kOverloaded if descriptors have run out.
  explicit LoopThread(std::function<void()> last = nullptr);
  ~LoopThread();
  LoopThread(const LoopThread&) = delete;
  LoopThread& operator=(const LoopThread&) = delete;

  // Returns the executor through which threads with an event loop of their own run functions here.
  const kj::Executor& executor() const { return *executor_; }
  // Runs f on the loop and waits for it. Call it on a thread without an event loop. Memory is
  // synchronised before and after f also by a mutex, for race detectors that can't see into KJ's
  // own locks.
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
  // Return objects that only the loop's thread may use.
  kj::LowLevelAsyncIoProvider& provider() { return *provider_; }
  kj::Timer& timer() { return *timer_; }
  kj::UnixEventPort& events() { return *events_; }

 private:
  void Run(std::promise<void>& ready, bool& is_running, const std::function<void()>& last);
  void Publish() { const MutexLock lock(handoff_); }

  Mutex handoff_;  // guards no data; shows race detectors the order of accesses
  // The thread sets these before the constructor returns.
  kj::Own<const kj::Executor> executor_;
  kj::LowLevelAsyncIoProvider* provider_ = nullptr;
  kj::Timer* timer_ = nullptr;
  kj::UnixEventPort* events_ = nullptr;
  kj::Own<kj::CrossThreadPromiseFulfiller<void>> stop_;
  std::thread thread_;
};

}  // namespace graphd
