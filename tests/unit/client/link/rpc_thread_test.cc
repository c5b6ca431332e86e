// SPDX-License-Identifier: Apache-2.0
#include "client/link/rpc_thread.h"

#include <gtest/gtest.h>

#include <chrono>
#include <future>
#include <memory>

namespace graphd {
namespace {

TEST(RpcThread, ACallFailsIfItsThreadEnds) {
  auto thread = std::make_unique<RpcThread>();
  RpcThread::Pending pending = thread->Start([] { return kj::Promise<void>(kj::NEVER_DONE); },
                                             std::chrono::hours(1), "test");
  auto waiting = std::async(std::launch::async, [&] { pending.Wait(); });
  thread.reset();
  EXPECT_ANY_THROW(waiting.get());
}

}  // namespace
}  // namespace graphd
