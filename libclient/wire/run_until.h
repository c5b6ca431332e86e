// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <kj/async.h>

namespace graphd {

// Runs the event loop of this thread until `end` is fulfilled or rejected. An exception that comes
// out of the loop itself, as from a handler of failures that finds no memory, is logged, and the
// loop goes on: it is an error of one event, and other events wait.
void RunUntil(kj::Promise<void> end, kj::WaitScope& scope);

}  // namespace graphd
