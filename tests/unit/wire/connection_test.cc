// SPDX-License-Identifier: Apache-2.0
// Tests of the transport's pitfalls: when an external buffer may be reused, and the limits of a
// message.
#include "wire/connection.h"

#include <capnp/orphan.h>
#include <gtest/gtest.h>
#include <kj/async-io.h>
#include <sys/socket.h>

#include <cstring>
#include <thread>

namespace graphd {
namespace {

constexpr size_t kLarge = size_t{40} << 20;

// The time at which the test overwrites the buffer of an answer, as its next user would.
constexpr uint64_t kJob = 1, kOtherJob = 2;

enum class Reuse { kWhenTheCallIsDone, kWhenItWasWritten };

// A server that answers slice() with `count` bytes of 0x11 in a pooled buffer.
class Rows final : public wire::Session::Server {
 public:
  Rows(Reuse reuse, std::shared_ptr<BufferPool> pool) : reuse_(reuse), pool_(std::move(pool)) {}
  void SetStream(TensorStream& stream) { stream_ = &stream; }

  kj::Promise<void> slice(SliceContext context) override {
    const auto bytes = static_cast<size_t>(context.getParams().getCount());
    PooledBuffer buffer = pool_->Get(bytes);
    std::memset(buffer.data(), 0x11, bytes);
    auto results = context.getResults(capnp::MessageSize{16, 0});
    results.adoptRows(capnp::Orphanage::getForMessageContaining(results).referenceExternalData(
        capnp::Data::Reader(reinterpret_cast<const kj::byte*>(buffer.data()), bytes)));
    if (reuse_ == Reuse::kWhenItWasWritten) {
      stream_->outbox()->ReleaseWhenWritten(std::move(buffer), {});
      return kj::READY_NOW;
    }
    std::byte* data = buffer.data();
    return kj::Promise<void>(kj::READY_NOW).attach(kj::mv(buffer), kj::defer([data, bytes] {
                                                     std::memset(data, 0xee, bytes);
                                                   }));
  }

 private:
  Reuse reuse_;
  std::shared_ptr<BufferPool> pool_;
  TensorStream* stream_ = nullptr;
};

// A server on a separate thread, at the other end of a socket pair.
class ServerThread {
 public:
  // If `in_turns`, another job has just used the event loop, too.
  explicit ServerThread(Reuse reuse, bool in_turns = false) {
    int ends[2];
    if (::socketpair(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0, ends) != 0) {
      ThrowErrno("no socket pair", "");
    }
    client_ = UniqueFd(ends[0]);
    thread_ = std::thread([this, reuse, in_turns, fd = ends[1]] {
      auto io = kj::setupAsyncIo();
      LoopTurns turns(io.provider->getTimer());
      auto rows = kj::heap<Rows>(reuse, pool_);
      Rows& impl = *rows;
      Connection connection(WrapSocket(*io.lowLevelProvider, UniqueFd(fd), false), false, pool_,
                            capnp::rpc::twoparty::Side::SERVER,
                            capnp::Capability::Client(wire::Session::Client(kj::mv(rows))));
      impl.SetStream(connection.stream());
      turns.Take(kOtherJob, 1).wait(io.waitScope);
      if (in_turns) connection.stream().TakeTurns(turns, kJob);
      connection.OnDisconnect().wait(io.waitScope);
    });
  }
  ~ServerThread() { thread_.join(); }
  UniqueFd TakeClientEnd() { return std::move(client_); }
  const std::shared_ptr<BufferPool>& pool() const { return pool_; }

 private:
  std::shared_ptr<BufferPool> pool_ = BufferPool::Create();
  UniqueFd client_;
  std::thread thread_;
};

class Client {
 public:
  explicit Client(ServerThread& server)
      : io_(kj::setupAsyncIo()),
        connection_(*io_.lowLevelProvider, {server.TakeClientEnd()}, BufferPool::Create()),
        session_(connection_.Bootstrap().castAs<wire::Session>()) {}
  // Requests `bytes` bytes and returns how many of the answer differ from those sent.
  size_t WrongBytes(size_t bytes) { return WrongBytesOf(Send(bytes), bytes); }
  // Requests these numbers of bytes at once, and returns as WrongBytes does.
  size_t WrongBytes(const std::vector<size_t>& sizes) {
    std::vector<Response> responses;
    for (const size_t bytes : sizes) responses.push_back(Send(bytes));
    size_t wrong = 0;
    for (size_t i = 0; i < sizes.size(); i++) {
      wrong += WrongBytesOf(kj::mv(responses[i]), sizes[i]);
    }
    return wrong;
  }

 private:
  using Response = capnp::RemotePromise<wire::Session::SliceResults>;
  Response Send(size_t bytes) {
    auto request = session_.sliceRequest();
    request.setCount(static_cast<int64_t>(bytes));
    return request.send();
  }
  size_t WrongBytesOf(Response sent, size_t bytes) {
    auto response = sent.wait(io_.waitScope);
    size_t wrong = response.getRows().size() == bytes ? 0 : bytes;
    for (kj::byte b : response.getRows()) wrong += b != 0x11;
    return wrong;
  }

  kj::AsyncIoContext io_;
  Connection connection_;
  wire::Session::Client session_;
};

TEST(ExternalData, AttachedToTheCallIsOverwrittenBeforeItIsSent) {
  ServerThread server(Reuse::kWhenTheCallIsDone);
  EXPECT_GT(Client(server).WrongBytes(kLarge), 0u);  // this is why ReleaseWhenWritten exists
}

TEST(ExternalData, ReleasedWhenWrittenArrivesUnchanged) {
  ServerThread server(Reuse::kWhenItWasWritten);
  {
    Client client(server);
    for (int i = 0; i < 5; i++) EXPECT_EQ(client.WrongBytes(kLarge), 0u);
    EXPECT_EQ(client.WrongBytes(1), 0u);
    EXPECT_EQ(client.WrongBytes(4097), 0u);
  }
  // All five answers used the same buffer.
  EXPECT_LE(server.pool()->idle_bytes() + server.pool()->loaned_bytes(), 2 * kLarge);
}

TEST(AnswersInTurns, ArriveUnchangedAndReleaseTheirBuffers) {
  ServerThread server(Reuse::kWhenItWasWritten, /*in_turns=*/true);
  {
    Client client(server);
    for (int i = 0; i < 5; i++) EXPECT_EQ(client.WrongBytes(kLarge), 0u);
    EXPECT_EQ(client.WrongBytes({kLarge, 1, kLarge / 2, 4097, kLarge}), 0u);
  }
  EXPECT_EQ(server.pool()->loaned_bytes(), 0u);
}

TEST(AnswersInTurns, EndWithTheirConnection) {
  ServerThread server(Reuse::kWhenItWasWritten, /*in_turns=*/true);
  server.TakeClientEnd();  // The descriptor is closed at once.
}

TEST(MessageLimit, BothEndsPassAnswersAboveCapnProtosDefaultOf64MiB) {
  ServerThread server(Reuse::kWhenItWasWritten);
  Client client(server);
  EXPECT_EQ(client.WrongBytes(size_t{200} << 20), 0u);
}

TEST(MessageLimit, AnAnswerAboveTheLimitFailsItsCall) {
  ServerThread server(Reuse::kWhenItWasWritten);
  Client client(server);
  EXPECT_THROW(client.WrongBytes(kMaxMessageBytes + (size_t{8} << 20)), kj::Exception);
}

// A server whose calls are answered only when the test says so.
class Waiting final : public wire::Session::Server {
 public:
  explicit Waiting(int& received, kj::ForkedPromise<void>& go_on)
      : received_(received), go_on_(go_on) {}
  kj::Promise<void> readRows(ReadRowsContext) override {
    received_++;
    return go_on_.addBranch();
  }

 private:
  int& received_;
  kj::ForkedPromise<void>& go_on_;
};

TEST(UnansweredCalls, AreReadUpToALimitWhichIsLargerForClientsThatAreAdmitted) {
  constexpr int kCalls = 100;
  constexpr size_t kCallBytes = size_t{32} << 10;
  auto io = kj::setupAsyncIo();
  int ends[2];
  ASSERT_EQ(::socketpair(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0, ends), 0);
  const auto pool = BufferPool::Create();
  int received = 0;
  auto pair = kj::newPromiseAndFulfiller<void>();
  auto go_on = pair.promise.fork();
  Connection server(
      WrapSocket(*io.lowLevelProvider, UniqueFd(ends[0]), false), false, pool,
      capnp::rpc::twoparty::Side::SERVER,
      capnp::Capability::Client(wire::Session::Client(kj::heap<Waiting>(received, go_on))));
  Connection client(*io.lowLevelProvider, {UniqueFd(ends[1])}, pool);
  auto session = client.Bootstrap().castAs<wire::Session>();
  kj::Vector<kj::Promise<void>> calls;
  for (int i = 0; i < kCalls; i++) {
    auto request = session.readRowsRequest();
    request.initIds(kCallBytes);
    calls.add(request.send().ignoreResult());
  }
  auto& timer = io.provider->getTimer();
  constexpr int kFit = static_cast<int>(kUnattachedUnanswered / kCallBytes);
  while (received < kFit - 1) timer.afterDelay(kj::MILLISECONDS).wait(io.waitScope);
  timer.afterDelay(300 * kj::MILLISECONDS).wait(io.waitScope);
  EXPECT_LE(received, kFit + 1);
  server.Admit(nullptr);
  while (received < kCalls) timer.afterDelay(kj::MILLISECONDS).wait(io.waitScope);
  pair.fulfiller->fulfill();
  for (auto& call : calls) call.wait(io.waitScope);
}

TEST(ErrorMapping, CodeAndMessageArePreserved) {
  for (ErrorCode code : {ErrorCode::kInvalid, ErrorCode::kOverloaded, ErrorCode::kVersion}) {
    const Error error = FromKj(ToKj(Error(code, "id 7 is odd")), "peer");
    EXPECT_EQ(error.code(), code);
    EXPECT_STREQ(error.what(), "id 7 is odd");
  }
  EXPECT_EQ(FromKj(kj::Exception(kj::Exception::Type::DISCONNECTED, "", 0), "peer").code(),
            ErrorCode::kUnavailable);
}

TEST(ErrorMapping, ALongTextIsCut) {
  const std::string text(10 << 20, 'x');
  const std::string got = FromKj(ToKj(Error(ErrorCode::kNotFound, text)), "peer").what();
  EXPECT_EQ(got, text.substr(0, kMaxErrorText) + "...");
}

}  // namespace
}  // namespace graphd
