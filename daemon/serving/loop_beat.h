// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <kj/async.h>

#include <chrono>
#include <string>

#include "daemon/serving/thread_watch.h"
#include "wire/loop_thread.h"

namespace graphd {

// Makes ThreadWatch watch the thread of an event loop under this name until the promise is dropped.
// The thread counts progress each time the loop turns, and is regarded as hung after `longest`
// without a turn. Call this on another thread with an event loop.
kj::Promise<void> BeatOf(LoopThread& loop, std::string name,
                         std::chrono::seconds longest = ThreadWatch::kLongestOfLoop);

}  // namespace graphd
