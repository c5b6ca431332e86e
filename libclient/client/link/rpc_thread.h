// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <kj/async-io.h>

#include <chrono>
#include <functional>
#include <future>
#include <memory>
#include <string>

#include "base/interruptions.h"
#include "client/link/session_process.h"
#include "wire/connection.h"
#include "wire/loop_thread.h"
#include "wire/status.h"

namespace graphd {

// The thread of a trainer that owns all its connections. Other threads pass it functions that
// return promises, and wait for them. Thread-safe.
class RpcThread {
 public:
  RpcThread();
  RpcThread(const RpcThread&) = delete;
  RpcThread& operator=(const RpcThread&) = delete;

  // A started call. The memory that the call writes to must live until Wait has returned or thrown.
  // The destructor waits, too. If an InterruptCheck of its thread has thrown, it drops the call
  // first.
  class Pending {
   public:
    Pending() = default;
    explicit Pending(std::future<void> done, std::function<void()> drop = {})
        : done_(std::move(done)), drop_(std::move(drop)) {}
    Pending(Pending&&) = default;
    Pending& operator=(Pending&&) = default;
    ~Pending() {
      if (!done_.valid()) return;
      if (Interruptions::Happened() && drop_) drop_();
      done_.wait();
    }
    void Wait() {
      if (!done_.valid()) return;
      AwaitFuture(done_);
      done_.get();
    }

   private:
    std::future<void> done_;
    std::function<void()> drop_;
  };

  // Runs `call` on the thread. After `timeout` its promise is dropped and Wait throws
  // Error(kDeadline, what). Exceptions of the RPC come out of Wait as graphd::Error. Throws
  // Error(kInvalid) in a forked child, which does not have the thread.
  // `on_deadline` runs on the thread when the timeout ends.
  Pending Start(std::function<kj::Promise<void>()> call, std::chrono::milliseconds timeout,
                std::string what, std::function<void()> on_deadline = {});
  // Runs a function on the thread and waits until it has returned. Throws as Start does in a forked
  // child.
  void Run(std::function<void()> function);

  // These may be called on the thread itself only.
  kj::LowLevelAsyncIoProvider& provider() { return loop_.provider(); }
  kj::Timer& timer() { return loop_.timer(); }

 private:
  struct Call;
  struct IgnoreErrors final : kj::TaskSet::ErrorHandler {
    void taskFailed(kj::Exception&&) override {}  // each task reports to its own future
  };
  const SessionProcess process_;  // the process that has the thread
  IgnoreErrors ignore_errors_;
  kj::Own<kj::TaskSet> tasks_;  // touched on the loop only
  LoopThread loop_;             // last: its thread uses the others
};

}  // namespace graphd
