// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <kj/async.h>
#include <kj/timer.h>

#include <atomic>
#include <chrono>
#include <functional>
#include <string>
#include <thread>

#include "base/clock.h"
#include "store/tensor_host.h"

namespace graphd {

// The last work of a daemon that stops: it lets requests end and writes changed rows back, while
// the daemon still tells its status. Reports the progress to the log and to the service manager,
// which waits as long as bytes are written. The main thread owns it; other threads may call
// EndWithin only.
class Drain {
 public:
  Drain(store::TensorHost& tensors, kj::Timer& timer) : tensors_(tensors), timer_(timer) {}
  ~Drain();
  Drain(const Drain&) = delete;
  Drain& operator=(const Drain&) = delete;

  // Requests that have not ended after this time are given up.
  static constexpr std::chrono::seconds kRequestSeconds{5};
  // Waits until have_ended() says that no request is under way, but at most for kRequestSeconds or
  // the time that EndWithin set. Then calls stop() on a thread; stop() fails the requests that
  // wait, and returns when none is running. The promise returns true if stop() returns within a
  // moment. Otherwise it returns false, the thread goes on, and only _Exit can end the process.
  kj::Promise<bool> EndRequests(std::function<bool()> have_ended, std::function<void()> stop);

  // Writes all changed rows back. The promise returns true when that is done or has failed; a
  // failure is logged. It returns false if rows are still being written when the time that
  // EndWithin set has passed, or if trouble (such as a full disk) has let nothing be written for a
  // while; the caller must then end the process.
  kj::Promise<bool> Run();

  // Limits the time until Run returns. The latest call counts. Negative: no limit.
  void EndWithin(double seconds) noexcept;

  // Returns what will become of the rows that are not written back, for the log.
  std::string WhatIsLeft() const;

 private:
  kj::Promise<void> Watch();
  // Waits until have_ended() returns true, or until `end` or the time that EndWithin has set.
  kj::Promise<void> AwaitRequests(std::function<bool()> have_ended, Clock::time_point end);
  static kj::Promise<void> RunOn(std::thread& thread, const char* what, std::function<void()> f);
  // Reports the progress. Returns false if trouble, such as a full disk, has let no row be written
  // for a while.
  bool Report();

  store::TensorHost& tensors_;
  kj::Timer& timer_;
  std::atomic<int64_t> end_at_ms_{INT64_MAX};  // by the steady clock
  Clock::time_point start_{}, reported_{}, logged_{}, moved_{};
  uint64_t written_ = 0;
  std::thread ending_, writing_;  // the threads of EndRequests and Run
};

}  // namespace graphd
