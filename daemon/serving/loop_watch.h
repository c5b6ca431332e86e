// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <atomic>
#include <chrono>
#include <cstdint>
#include <string>
#include <vector>

#include "base/clock.h"

namespace graphd {

// Watches the event loops of other threads, which count their heartbeats. A loop that does not turn
// serves none of its connections, and nobody else would notice. Used by the main thread, but for
// IsAlive().
class LoopWatch {
 public:
  // Loops count their heartbeats, and Check() is called, once per period.
  static constexpr std::chrono::seconds kPeriod{1};
  // A loop that counts nothing for this time is stuck: far longer than any request takes there.
  static constexpr std::chrono::seconds kLongest{10};
  // After this time without a check that has found all loops turning, the process is not alive.
  static constexpr std::chrono::seconds kDead{30};

  // `beats` outlives this.
  void Add(std::string name, const std::atomic<uint64_t>& beats);
  // Returns whether all loops turn. Logs which one is stuck, and when it turns again.
  bool Check(Clock::time_point now = Clock::now());
  // Returns whether the last checks have found all loops turning, and the main thread has made
  // them. A process that has made none yet is alive. Any thread may call it.
  bool IsAlive(Clock::time_point now = Clock::now()) const;

 private:
  struct Loop {
    std::string name;
    const std::atomic<uint64_t>& beats;
    uint64_t seen = 0;
    Clock::time_point since;  // the time at which `seen` was new
    bool stuck = false;
  };
  std::vector<Loop> loops_;
  Clock::time_point last_check_ = Clock::now();
  // The time of the last check that has found all loops turning; the epoch if there was none.
  std::atomic<Clock::time_point> last_good_{Clock::time_point{}};
};

}  // namespace graphd
