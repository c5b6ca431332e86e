// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <atomic>
#include <functional>
#include <optional>
#include <thread>
#include <vector>

#include "base/file.h"
#include "base/threads/mutex.h"
#include "graphd/error.h"

// Threads that work while the main thread shows progress and watches for signals. The first signal
// only sets `cancelled`, which the threads check. If they then take more than a few seconds to end,
// or at a second signal, the process exits without waiting for them. Only the main thread may use
// this class; other threads may only read `cancelled`.

namespace graphd::ctl {

class CancellableThreads {
 public:
  CancellableThreads();
  // Waits for the threads, as Wait does, and logs what it throws.
  ~CancellableThreads();
  CancellableThreads(const CancellableThreads&) = delete;
  CancellableThreads& operator=(const CancellableThreads&) = delete;

  // Starts a thread that calls `work`. If `work` throws, all threads are cancelled. Throws
  // Error(kOverloaded) if the system can't start another thread; before that, the threads started
  // earlier are cancelled and waited for.
  void Start(std::function<void()> work);
  // Waits until every thread has ended. Calls `tick` ten times a second, and once at the end.
  // Throws the first exception of a thread, as an Error.
  void Wait(const std::function<void()>& tick);

  const std::atomic<bool>& cancelled() const { return cancelled_; }
  // The signal that cancelled the threads; 0: none.
  int signal() const { return signal_; }

 private:
  void AwaitEnd(const std::function<void()>& tick);
  void ReadSignals();

  UniqueFd signals_, ended_;
  std::vector<std::thread> threads_;
  std::atomic<size_t> running_{0};
  std::atomic<bool> cancelled_{false};
  Mutex mutex_;
  std::optional<Error> failure_ GRAPHD_GUARDED_BY(mutex_);  // the first one of a thread
  int signal_ = 0;
  double cancelled_at_ = 0;
};

}  // namespace graphd::ctl
