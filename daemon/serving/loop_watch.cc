// SPDX-License-Identifier: Apache-2.0
#include "daemon/serving/loop_watch.h"

#include <utility>

#include "base/log.h"

namespace graphd {

void LoopWatch::Add(std::string name, const std::atomic<uint64_t>& beats) {
  loops_.push_back({std::move(name), beats, beats.load(), Clock::now()});
}

bool LoopWatch::Check(Clock::time_point now) {
  // If this thread was not running, the whole process may have been stopped.
  const bool was_away = now - last_check_ > kLongest / 2;
  last_check_ = now;
  bool all_turn = true;
  for (Loop& loop : loops_) {
    const uint64_t beats = loop.beats.load(std::memory_order_relaxed);
    if (beats != loop.seen || was_away) {
      if (loop.stuck && beats != loop.seen) LogInfo(loop.name, " serves its connections again");
      loop.stuck = loop.stuck && beats == loop.seen;
      loop.seen = beats;
      loop.since = now;
    }
    if (now - loop.since > kLongest && !loop.stuck) {
      loop.stuck = true;
      LogError(loop.name, " has not served its connections for ",
               std::chrono::duration_cast<std::chrono::seconds>(now - loop.since).count(),
               " s; systemd's watchdog is not notified until it does");
    }
    all_turn = all_turn && !loop.stuck;
  }
  if (all_turn) last_good_ = now;
  return all_turn;
}

bool LoopWatch::IsAlive(Clock::time_point now) const {
  const Clock::time_point last_good = last_good_;
  return last_good == Clock::time_point{} || now - last_good < kDead;
}

}  // namespace graphd
