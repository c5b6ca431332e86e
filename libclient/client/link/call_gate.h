// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <kj/async.h>

#include <deque>
#include <memory>
#include <utility>

namespace graphd {

// A gate that lets a bounded number of calls run at once, while others wait for their turn. It must
// be used on the RPC thread.
class CallGate : public std::enable_shared_from_this<CallGate> {
 public:
  explicit CallGate(size_t max_running) : max_running_(max_running) {}
  // Runs f, which returns a promise, as soon as fewer calls than the bound are running. A call that
  // is dropped gives up its place, or its turn.
  template <class F>
  kj::Promise<void> Run(F f) {
    return Enter().then([f = kj::mv(f)](Place place) mutable { return f().attach(kj::mv(place)); });
  }

 private:
  // The place of a call that may run. The destructor gives it to the next call that still waits,
  // also if this call is dropped before it has begun.
  class Place {
   public:
    explicit Place(std::shared_ptr<CallGate> gate) : gate_(std::move(gate)) {}
    Place(Place&&) = default;
    Place& operator=(Place&&) = delete;
    ~Place() {
      if (gate_ == nullptr) return;
      CallGate& gate = *gate_;
      while (!gate.waiting_.empty()) {
        auto next = kj::mv(gate.waiting_.front());
        gate.waiting_.pop_front();
        if (next->isWaiting()) {
          next->fulfill(Place(std::move(gate_)));
          return;
        }
      }
      gate.running_--;
    }

   private:
    std::shared_ptr<CallGate> gate_;
  };

  kj::Promise<Place> Enter() {
    if (running_ < max_running_) {
      running_++;
      return Place(shared_from_this());
    }
    auto pair = kj::newPromiseAndFulfiller<Place>();
    waiting_.push_back(kj::mv(pair.fulfiller));
    return kj::mv(pair.promise);
  }

  size_t max_running_, running_ = 0;
  std::deque<kj::Own<kj::PromiseFulfiller<Place>>> waiting_;
};

}  // namespace graphd
