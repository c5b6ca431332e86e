// SPDX-License-Identifier: Apache-2.0
#include "wire/run_until.h"

#include <chrono>
#include <thread>

#include "base/failure.h"

namespace graphd {
namespace {

// The pause after a failure, which may be one of the loop's next steps, too.
constexpr auto kPause = std::chrono::milliseconds(10);

}  // namespace

void RunUntil(kj::Promise<void> end, kj::WaitScope& scope) {
  auto ended = end.catch_([](kj::Exception&&) {}).fork();
  while (!LogFailure("an event loop, which goes on", [&] { ended.addBranch().wait(scope); })) {
    std::this_thread::sleep_for(kPause);
  }
}

}  // namespace graphd
