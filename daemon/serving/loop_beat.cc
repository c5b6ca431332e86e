// SPDX-License-Identifier: Apache-2.0
#include "daemon/serving/loop_beat.h"

#include <utility>

#include "base/threads/watched_thread.h"
#include "daemon/serving/thread_watch.h"

namespace graphd {
namespace {

kj::Promise<void> CountTurns(kj::Timer& timer) {
  return timer.afterDelay(ThreadWatch::kPeriod.count() * kj::SECONDS).then([&timer] {
    WatchedThread::CountProgress();
    return CountTurns(timer);
  });
}

}  // namespace

kj::Promise<void> BeatOf(LoopThread& loop, std::string name, std::chrono::seconds longest) {
  return loop.executor().executeAsync([&loop, name = std::move(name), longest] {
    return CountTurns(loop.timer()).attach(kj::heap<WatchedThread>(name, longest));
  });
}

}  // namespace graphd
