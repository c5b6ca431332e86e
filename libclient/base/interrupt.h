// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <algorithm>
#include <chrono>
#include <condition_variable>
#include <future>
#include <mutex>
#include <thread>

#include "graphd/interrupt.h"

// Functions that wait and that the calling thread's InterruptCheck (graphd/interrupt.h) can
// interrupt; in a thread without a check they wait without interruption. An exception of the check
// leaves them.

namespace graphd {

inline constexpr std::chrono::milliseconds kInterruptPause{50};

// The innermost InterruptCheck of the calling thread.
struct Interruptions {
  static bool AreChecked() noexcept;
  // Calls the check if the thread has one; throws what the check throws.
  static void Check();
  // Returns whether the check has thrown and is still alive: nothing should be waited for then.
  static bool Happened() noexcept;
};

template <class T>
void AwaitFuture(std::future<T>& future) {
  if (!Interruptions::AreChecked()) return future.wait();
  while (future.wait_for(kInterruptPause) != std::future_status::ready) Interruptions::Check();
}

template <class Predicate>
void Await(std::condition_variable& changed, std::unique_lock<std::mutex>& lock,
           Predicate predicate) {
  if (!Interruptions::AreChecked()) return changed.wait(lock, predicate);
  while (!changed.wait_for(lock, kInterruptPause, predicate)) {
    lock.unlock();
    Interruptions::Check();
    lock.lock();
  }
}

inline void AwaitTime(std::chrono::steady_clock::duration pause) {
  const auto end = std::chrono::steady_clock::now() + pause;
  for (auto left = pause; left > left.zero(); left = end - std::chrono::steady_clock::now()) {
    Interruptions::Check();
    std::this_thread::sleep_for(std::min<decltype(left)>(left, kInterruptPause));
  }
}

// Locks a mutex whose owner may wait for a daemon while holding it.
inline std::unique_lock<std::mutex> AwaitLock(std::mutex& mutex) {
  if (!Interruptions::AreChecked()) return std::unique_lock(mutex);
  std::unique_lock lock(mutex, std::try_to_lock);
  while (!lock.owns_lock()) {
    AwaitTime(std::chrono::milliseconds(1));
    lock.try_lock();
  }
  return lock;
}

}  // namespace graphd
