// SPDX-License-Identifier: Apache-2.0
#include "wire/tensor_stream.h"

#include <gtest/gtest.h>
#include <kj/async-io.h>
#include <sys/socket.h>
#include <unistd.h>

#include <array>
#include <memory>
#include <vector>

#include "base/file.h"
#include "wire/connection.h"

namespace graphd {
namespace {

constexpr size_t kMessageBytes = size_t{700} << 10;
// A message counts twice: for its connection, and for all.
constexpr size_t kMemory = size_t{2} << 20;

// The server's end of a connection whose client has sent the head of a long message.
struct Receiving {
  Receiving(kj::AsyncIoContext& io, const std::shared_ptr<BufferPool>& pool,
            const std::shared_ptr<MemoryAccount>& all, LoopTurns& turns, const JobShare& share)
      : account(std::make_shared<MemoryAccount>("a connection", all)) {
    std::array<int, 2> ends{};
    if (::socketpair(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0, ends.data()) != 0) {
      ThrowErrno("no socket pair", "");
    }
    client = UniqueFd(ends[0]);
    socket = WrapSocket(*io.lowLevelProvider, UniqueFd(ends[1]), false);
    stream = std::make_unique<TensorStream>(*socket, nullptr, pool, kMemory, kMemory, true);
    stream->SetMemory(account, io.provider->getTimer());
    stream->Admit(nullptr);
    stream->TakeTurns(turns, share);
    const std::array<uint32_t, 2> head{0, kMessageBytes / sizeof(capnp::word)};
    EXPECT_EQ(::write(client.get(), head.data(), sizeof head), ssize_t{sizeof head});
    message = stream->tryReadMessage(nullptr, {}, nullptr).ignoreResult().eagerlyEvaluate(nullptr);
  }

  const std::shared_ptr<MemoryAccount> account;
  UniqueFd client;
  kj::Own<kj::AsyncIoStream> socket;
  std::unique_ptr<TensorStream> stream;
  kj::Promise<void> message = nullptr;
};

TEST(TensorStreamMemory, MessagesThatWaitedForTurnsTakeNoMoreThanThereIs) {
  auto io = kj::setupAsyncIo();
  kj::Timer& timer = io.provider->getTimer();
  LoopTurns turns(timer);
  const JobShare share = LoopTurns::ShareOfStrangers("uid 1000");
  const auto all = std::make_shared<MemoryAccount>("all", kMemory, "");
  // All turns of strangers are used up for a moment, in which all messages begin to wait.
  turns.Take(share, static_cast<size_t>(LoopTurns::kStrangersBurst * 2.5)).wait(io.waitScope);
  std::vector<std::unique_ptr<Receiving>> many;
  const auto pool = BufferPool::Create();
  for (int i = 0; i < 4; i++) {
    many.push_back(std::make_unique<Receiving>(io, pool, all, turns, share));
  }
  timer.afterDelay(20 * kj::MILLISECONDS).wait(io.waitScope);
  EXPECT_EQ(all->used(), 0U) << "they wait for turns";
  for (int i = 0; i < 2000 && all->used() == 0; i++) {
    timer.afterDelay(10 * kj::MILLISECONDS).wait(io.waitScope);
  }
  timer.afterDelay(100 * kj::MILLISECONDS).wait(io.waitScope);
  EXPECT_GE(all->used(), kMessageBytes);
  EXPECT_LT(all->used(), 2 * kMessageBytes) << "there is memory for one";
  // The others look for memory at the same times.
  std::erase_if(many, [](const auto& each) { return each->account->used() > 0; });
  EXPECT_EQ(many.size(), 3U);
  timer.afterDelay(100 * kj::MILLISECONDS).wait(io.waitScope);
  EXPECT_GE(all->used(), kMessageBytes);
  EXPECT_LT(all->used(), 2 * kMessageBytes) << "there is memory for one of the others";
}

}  // namespace
}  // namespace graphd
