// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <algorithm>
#include <chrono>
#include <future>
#include <thread>

#include "base/threads/mutex.h"
#include "graphd/interrupt.h"

// Functions that wait, and that the InterruptCheck (graphd/interrupt.h) of the calling thread can
// interrupt. If the check throws, they throw the same exception. In a thread without a check, they
// wait without interruption.

namespace graphd {

inline constexpr std::chrono::milliseconds kInterruptPause{50};

// The innermost InterruptCheck of the calling thread. It is marked as hidden here, because the
// public header that declares it first would make it an exported symbol.
struct [[gnu::visibility("hidden")]] Interruptions {
  // Returns a reference to the thread's pointer to its innermost check. The pointer is null if the
  // thread has no check.
  static InterruptCheck*& Innermost() noexcept;
  static bool AreChecked() noexcept;
  // Calls the check if the thread has one; throws what the check throws.
  static void Check();
  // Returns whether the thread has a check and this check has thrown. If so, the caller should not
  // wait for anything.
  static bool Happened() noexcept;
};

template <class Future>
void AwaitFuture(Future& future) {
  if (!Interruptions::AreChecked()) return future.wait();
  while (future.wait_for(kInterruptPause) != std::future_status::ready) Interruptions::Check();
}

// Waits once, as CondVar::Wait does; the caller tests the condition in a loop. While the check
// runs, the mutex is unlocked.
inline void AwaitChange(CondVar& changed, Mutex& mutex) GRAPHD_REQUIRES(mutex) {
  if (!Interruptions::AreChecked()) return changed.Wait(mutex);
  if (changed.WaitFor(mutex, kInterruptPause)) return;
  const MutexUnlock unlocked(mutex);
  Interruptions::Check();
}

inline void AwaitTime(std::chrono::steady_clock::duration pause) {
  const auto end = std::chrono::steady_clock::now() + pause;
  for (auto left = pause; left > left.zero(); left = end - std::chrono::steady_clock::now()) {
    Interruptions::Check();
    std::this_thread::sleep_for(std::min<decltype(left)>(left, kInterruptPause));
  }
}

// A lock for a mutex that other threads may hold while they wait for a daemon. The check can
// interrupt the wait for the mutex.
class GRAPHD_SCOPED_CAPABILITY InterruptibleLock {
 public:
  explicit InterruptibleLock(Mutex& mutex) GRAPHD_ACQUIRE(mutex) : mutex_(mutex) {
    if (!Interruptions::AreChecked()) {
      mutex_.lock();
      return;
    }
    while (!mutex_.try_lock()) AwaitTime(std::chrono::milliseconds(1));
  }
  ~InterruptibleLock() GRAPHD_RELEASE() { mutex_.unlock(); }
  InterruptibleLock(const InterruptibleLock&) = delete;
  InterruptibleLock& operator=(const InterruptibleLock&) = delete;

 private:
  Mutex& mutex_;
};

}  // namespace graphd
