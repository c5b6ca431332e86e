// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <kj/async.h>

#include <chrono>
#include <string>

#include "daemon/serving/thread_watch.h"
#include "wire/loop_thread.h"

namespace graphd {

// Makes the thread of an event loop a watched one of this name, which counts progress while the
// loop turns, until the promise is dropped. It hangs after `longest` without a turn. Call on
// another thread with an event loop.
kj::Promise<void> BeatOf(LoopThread& loop, std::string name,
                         std::chrono::seconds longest = ThreadWatch::kLongestOfLoop);

}  // namespace graphd
