// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <kj/async.h>

#include <deque>
#include <memory>

namespace graphd {

// A gate that lets a bounded number of calls run at once, while others wait for their turn. It must
// be used on the RPC thread.
class CallGate : public std::enable_shared_from_this<CallGate> {
 public:
  explicit CallGate(size_t max_running) : max_running_(max_running) {}
  // Runs f, which returns a promise, as soon as fewer calls than the bound are running.
  template <class F>
  kj::Promise<void> Run(F f) {
    return Enter().then([self = shared_from_this(), f = kj::mv(f)]() mutable {
      return f().attach(kj::defer([self] { self->Leave(); }));
    });
  }

 private:
  kj::Promise<void> Enter() {
    if (running_ < max_running_) {
      running_++;
      return kj::READY_NOW;
    }
    auto pair = kj::newPromiseAndFulfiller<void>();
    waiting_.push_back(kj::mv(pair.fulfiller));
    return kj::mv(pair.promise);
  }
  void Leave() {
    // Give the place to the next call that still waits.
    while (!waiting_.empty()) {
      auto next = kj::mv(waiting_.front());
      waiting_.pop_front();
      if (next->isWaiting()) return next->fulfill();
    }
    running_--;
  }
  size_t max_running_, running_ = 0;
  std::deque<kj::Own<kj::PromiseFulfiller<void>>> waiting_;
};

}  // namespace graphd
