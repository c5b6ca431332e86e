// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <kj/async.h>
#include <kj/timer.h>

#include <atomic>
#include <string>
#include <thread>

#include "base/clock.h"
#include "store/tensor_host.h"

namespace graphd {

// The last work of a daemon that stops: changed rows are written back while the daemon still tells
// its status. Reports the progress to the service manager, which waits as long as bytes move, and
// to the log. The main thread owns it; other threads may call EndWithin only.
class Drain {
 public:
  Drain(store::TensorHost& tensors, kj::Timer& timer) : tensors_(tensors), timer_(timer) {}
  ~Drain();
  Drain(const Drain&) = delete;
  Drain& operator=(const Drain&) = delete;

  // Writes all changed rows back. The promise returns true when that is done or has failed, which
  // is logged; false when the time that EndWithin set has passed or trouble (a full disk) lets
  // nothing be written, while a thread still tries: end the process then.
  kj::Promise<bool> Run();

  // Limits the time until Run returns. The latest call holds. Negative: no limit.
  void EndWithin(double seconds) noexcept;

  // Returns what will become of the rows that are not written back, for the log.
  std::string WhatIsLeft() const;

 private:
  kj::Promise<void> Watch();
  // Returns false if there is trouble that lets nothing be written.
  bool Report();

  store::TensorHost& tensors_;
  kj::Timer& timer_;
  std::atomic<int64_t> end_at_ms_{INT64_MAX};  // by the steady clock
  Clock::time_point start_{}, reported_{}, logged_{}, moved_{};
  uint64_t written_ = 0;
  std::thread thread_;
};

}  // namespace graphd
