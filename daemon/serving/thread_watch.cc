// SPDX-License-Identifier: Apache-2.0
#include "daemon/serving/thread_watch.h"

#include <utility>

#include "base/log.h"

namespace graphd {

void ThreadWatch::Update(Seen& seen, const WatchedThread::State& state, Clock::time_point now) {
  using std::chrono::duration_cast;
  using std::chrono::seconds;
  if (!state.works || state.progress != seen.progress) {
    if (seen.hangs) LogInfo("thread '", state.name, "' goes on");
    seen = {.progress = state.progress, .since = now};
  } else if (now - seen.since > state.longest && !seen.hangs) {
    seen.hangs = true;
    LogError("thread '", state.name, "' has hung for ",
             duration_cast<seconds>(now - seen.since).count(),
             " s; systemd's watchdog is not notified until it goes on");
  }
}

bool ThreadWatch::Check(Clock::time_point now) {
  // If this thread was not running for a while, the whole process may have been stopped. No other
  // thread is blamed for this time.
  const bool was_away = now - last_check_ > kLongestOfLoop / 2;
  last_check_ = now;
  std::map<uint64_t, Seen> known;
  bool none_hangs = true;
  for (const WatchedThread::State& state : WatchedThread::All()) {
    const auto before = threads_.find(state.id);
    Seen seen =
        before != threads_.end() ? before->second : Seen{.progress = state.progress, .since = now};
    if (was_away) seen.since = now;
    Update(seen, state, now);
    none_hangs = none_hangs && !seen.hangs;
    known.emplace(state.id, seen);
  }
  threads_ = std::move(known);
  if (none_hangs) last_good_ = now;
  return none_hangs;
}

bool ThreadWatch::IsAlive(Clock::time_point now) const {
  const Clock::time_point last_good = last_good_;
  return last_good == Clock::time_point{} || now - last_good < kDead;
}

}  // namespace graphd
