// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <kj/async-io.h>
#include <uv.h>

#include <chrono>
#include <cstdint>
#include <functional>
#include <list>

#include "daemon/serving/uv_bridge.h"
#include "wire/run_until.h"

namespace graphd {

// The event loop of the daemon's main thread. A loop of libuv (for signals, timers and wake-ups by
// other threads) runs inside a loop of KJ (for connections and promises); see UvBridge.
// Constructed, used and destroyed by the main thread, which runs the callbacks while it waits for a
// promise. What a callback throws is logged.
class MainLoop {
 public:
  MainLoop();
  // Ends the loop. No callback is called any more.
  ~MainLoop();
  MainLoop(const MainLoop&) = delete;
  MainLoop& operator=(const MainLoop&) = delete;

  kj::Timer& timer() { return io_.provider->getTimer(); }
  kj::UnixEventPort& events() { return io_.unixEventPort; }
  // Waits for the promise, and meanwhile runs whatever else is due.
  template <class T>
  T Wait(kj::Promise<T> promise) {
    return promise.wait(io_.waitScope);
  }

  // Calls wire/run_until.h's RunUntil.
  void RunUntil(kj::Promise<void> end) { graphd::RunUntil(kj::mv(end), io_.waitScope); }

  // Calls `callback` for each signal of this number.
  void OnSignal(int number, std::function<void()> callback);
  // Calls `callback` after `first`, and then again after each `period`; only once if `period` is 0.
  void OnTimer(std::chrono::milliseconds first, std::chrono::milliseconds period,
               std::function<void()> callback);
  // Returns a function by which any thread makes the loop's thread call `callback` soon. The
  // function must not be called after the loop was destroyed.
  std::function<void()> OnWake(std::function<void()> callback);
  // Calls `callback` after each period, until the promise is dropped.
  kj::Promise<void> Repeat(std::chrono::milliseconds period, std::function<void()> callback);

 private:
  struct Handle {
    uv_any_handle uv{};
    std::function<void()> callback;
    // Calls the callback of the handle to which `data` points. Exceptions must not reach libuv.
    static void Call(void* data) noexcept;
  };
  // Returns a new handle. The caller points its uv.handle.data to it once libuv has initialised it.
  Handle& AddHandle(std::function<void()> callback);
  kj::Promise<void> RepeatLoop(std::chrono::milliseconds period, std::function<void()> callback);

  kj::AsyncIoContext io_;
  uv_loop_t loop_{};
  std::list<Handle> handles_;
  kj::Own<UvBridge> bridge_;
};

}  // namespace graphd
