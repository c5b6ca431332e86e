// SPDX-License-Identifier: Apache-2.0
#include "wire/tensor_stream.h"

#include <gtest/gtest.h>
#include <kj/async-io.h>
#include <kj/io.h>
#include <sys/socket.h>
#include <unistd.h>

#include <array>
#include <filesystem>
#include <iterator>
#include <memory>
#include <utility>
#include <vector>

#include "base/file.h"
#include "tests/support/send_descriptors.h"
#include "wire/connection.h"

namespace graphd {
namespace {

constexpr size_t kMessageBytes = size_t{700} << 10;
// A message counts twice: for its connection, and for all.
constexpr size_t kMemory = size_t{2} << 20;

std::array<UniqueFd, 2> SocketPair() {
  std::array<int, 2> ends{};
  if (::socketpair(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0, ends.data()) != 0) {
    ThrowErrno("no socket pair", "");
  }
  return {UniqueFd(ends[0]), UniqueFd(ends[1])};
}

// The server's end of a connection whose client has sent the head of a long message.
struct Receiving {
  Receiving(kj::AsyncIoContext& io, const std::shared_ptr<BufferPool>& pool,
            const std::shared_ptr<MemoryAccount>& all, LoopTurns& turns, const JobShare& share)
      : account(std::make_shared<MemoryAccount>("a connection", all)) {
    std::array<UniqueFd, 2> ends = SocketPair();
    client = std::move(ends[0]);
    socket = WrapSocket(*io.lowLevelProvider, std::move(ends[1]), false);
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

// The client's end of a connection whose server sends descriptors.
class ReceivedDescriptors : public ::testing::Test {
 public:
  ~ReceivedDescriptors() noexcept override = default;

 protected:
  ReceivedDescriptors() {
    std::array<UniqueFd, 2> ends = SocketPair();
    server_ = std::move(ends[0]);
    socket_ = WrapSocket(*io_.lowLevelProvider, std::move(ends[1]), true);
    stream_ = std::make_unique<TensorStream>(*socket_,
                                             static_cast<kj::AsyncCapabilityStream*>(socket_.get()),
                                             BufferPool::Create(), kMemory, kMemory, false);
    before_ = NumOpen();
  }

  static std::ptrdiff_t NumOpen() {
    const std::filesystem::directory_iterator open("/proc/self/fd");
    return std::distance(begin(open), end(open));
  }
  // Returns how many descriptors were received and are open.
  std::ptrdiff_t NumReceived() const { return NumOpen() - before_; }
  // Sends the beginning of a message with descriptors.
  void Send(std::vector<uint32_t> words, size_t descriptors) {
    testing::SendDescriptors(server_.get(), words.data(), words.size() * sizeof(uint32_t),
                             STDERR_FILENO, descriptors);
  }
  capnp::MessageReaderAndFds Read() {
    return KJ_ASSERT_NONNULL(stream_->tryReadMessage(nullptr, {}, nullptr).wait(io_.waitScope));
  }

  kj::AsyncIoContext io_ = kj::setupAsyncIo();
  UniqueFd server_;
  kj::Own<kj::AsyncIoStream> socket_;
  std::unique_ptr<TensorStream> stream_;
  std::ptrdiff_t before_ = 0;
};

TEST_F(ReceivedDescriptors, BelongToTheirMessage) {
  Send({0, 1, 0, 0}, kMaxDescriptors);
  const uint32_t next[] = {0, 0};
  ASSERT_EQ(::write(server_.get(), next, sizeof next), ssize_t{sizeof next});
  kj::AutoCloseFd taken;
  {
    capnp::MessageReaderAndFds message = Read();
    EXPECT_EQ(message.reader->getSegment(0).size(), 1U);
    EXPECT_EQ(message.fds.size(), kMaxDescriptors);
    EXPECT_EQ(NumReceived(), ssize_t{kMaxDescriptors});
    capnp::MessageReaderAndFds empty = Read();
    EXPECT_EQ(empty.reader->getSegment(0).size(), 0U);
    EXPECT_EQ(empty.fds.size(), 0U);
    taken = kj::mv(message.fds[1]);
  }
  EXPECT_EQ(NumReceived(), 1) << "what nobody took is closed with the message";
}

TEST_F(ReceivedDescriptors, AreClosedIfTheMessageDoesNotCome) {
  Send({0, 16}, 3);
  {
    const auto message = stream_->tryReadMessage(nullptr, {}, nullptr).eagerlyEvaluate(nullptr);
    io_.provider->getTimer().afterDelay(10 * kj::MILLISECONDS).wait(io_.waitScope);
    EXPECT_EQ(NumReceived(), 3);
  }
  EXPECT_EQ(NumReceived(), 0) << "reading was cancelled";
}

TEST_F(ReceivedDescriptors, AreClosedAtTheEndOfTheStream) {
  Send({0, 16}, 3);
  ::shutdown(server_.get(), SHUT_WR);
  EXPECT_ANY_THROW(Read());
  EXPECT_EQ(NumReceived(), 0);
}

TEST_F(ReceivedDescriptors, AreClosedWithTheStreamIfOnlyAPartOfTheHeadHasCome) {
  Send({0}, 3);
  ::shutdown(server_.get(), SHUT_WR);
  EXPECT_ANY_THROW(Read());
  stream_.reset();
  EXPECT_EQ(NumReceived(), 0);
}

}  // namespace
}  // namespace graphd
