// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <atomic>
#include <chrono>
#include <cstdint>
#include <map>

#include "base/clock.h"
#include "base/threads/watched_thread.h"

namespace graphd {

// The watch over threads that may hang: event loops that serve none of their connections, and
// threads of pools and of the store that make no progress with their work. Nobody else would
// notice. Used by the main thread, except that any thread may call IsAlive().
class ThreadWatch {
 public:
  // Once per period, each event loop counts progress, and Check() is called.
  static constexpr std::chrono::seconds kPeriod{1};
  // An event loop that counts no progress for this time hangs. The time is far longer than any
  // request takes there.
  static constexpr std::chrono::seconds kLongestOfLoop{10};
  // The process counts as dead if, for this time, no check has found all threads in order.
  static constexpr std::chrono::seconds kDead{30};

  // Returns whether no thread hangs. Logs when a thread begins to hang, and when it goes on.
  bool Check(Clock::time_point now = Clock::now());
  // Returns whether the main thread has made a check within the last kDead that found all threads
  // in order. Before the first such check, the process counts as alive. Any thread may call it.
  bool IsAlive(Clock::time_point now = Clock::now()) const;

 private:
  struct Seen {
    uint64_t progress = 0;
    Clock::time_point since;  // the time at which `progress` was new
    bool hangs = false;
  };
  // Updates the record of a thread from its present state.
  static void Update(Seen& seen, const WatchedThread::State& state, Clock::time_point now);

  std::map<uint64_t, Seen> threads_;  // by WatchedThread::State::id
  Clock::time_point last_check_ = Clock::now();
  // The time of the last check that has found no thread that hangs; the epoch if there was none.
  std::atomic<Clock::time_point> last_good_{Clock::time_point{}};
};

}  // namespace graphd
