// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <algorithm>
#include <chrono>
#include <condition_variable>
#include <future>
#include <mutex>
#include <thread>

#include "graphd/interrupt.h"

// Waiting that the thread's InterruptCheck can end; without one it is plain waiting.

namespace graphd {

inline constexpr std::chrono::milliseconds kInterruptPause{50};

// The checks of the calling thread.
struct Interruptions {
  static bool AreChecked() noexcept;
  // Calls the check, if there is one; it may throw.
  static void Check();
  // Whether the check has thrown and its scope has not ended: nothing should be waited for.
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

// For mutexes that are held while their owner waits for a daemon.
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
