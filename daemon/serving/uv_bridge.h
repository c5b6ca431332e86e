// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <kj/async-io.h>
#include <kj/async-unix.h>
#include <uv.h>

namespace graphd {

// A bridge that runs a libuv loop inside a KJ event loop, on one thread. libuv provides signals,
// timers, children and its thread pool; KJ provides RPC. KJ 0.9 can't be embedded into libuv,
// because it offers no descriptor that libuv could poll. The bridge follows three rules, each of
// which has a test:
//  - KJ observes libuv's descriptor edge-triggered, but libuv's watchers behind it are
//    level-triggered. After each turn, the descriptor is therefore polled, and another turn
//    follows if it is still readable.
//  - Handles that are made or started outside libuv callbacks take effect in the next turn only,
//    so Kick() must be called.
//  - A libuv loop without active handles always asks to be run at once. Nothing is then scheduled.
// Used and destroyed on the thread of the KJ loop.
class UvBridge final : private kj::TaskSet::ErrorHandler {
 public:
  // `loop` must be initialised, and outlive the bridge.
  UvBridge(kj::UnixEventPort& port, uv_loop_t* loop);
  KJ_DISALLOW_COPY(UvBridge);

  // Makes the loop run soon. Call after touching a uv handle outside a uv callback.
  void Kick();
  // Returns the number of calls of uv_run; for tests.
  uint64_t turns() const noexcept { return turns_; }

 private:
  kj::Promise<void> Watch();
  void Turn();
  void taskFailed(kj::Exception&& exception) override;

  kj::UnixEventPort& port_;
  uv_loop_t* loop_;
  kj::UnixEventPort::FdObserver observer_;
  kj::Promise<void> watching_ = nullptr, timer_ = nullptr;
  kj::TaskSet kicks_;  // a set, because a turn may schedule the next one while its own promise runs
  bool kicked_ = false, in_uv_ = false;
  uint64_t turns_ = 0;
};

}  // namespace graphd
