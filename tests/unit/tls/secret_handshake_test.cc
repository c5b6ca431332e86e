// SPDX-License-Identifier: Apache-2.0
// Tests of the handshake with a shared secret, and of peers that lie in it.
#include "tls/secret_handshake.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <kj/async-io.h>
#include <kj/timer.h>
#include <sys/socket.h>
#include <unistd.h>

#include <functional>
#include <thread>

#include "base/file.h"
#include "base/strings.h"
#include "tls/handshake_socket.h"

namespace graphd::testing {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::StartsWith;

constexpr std::chrono::seconds kSecretPatience{20};
using Bytes = std::vector<std::byte>;

std::shared_ptr<const SharedSecret> NewSharedSecret() {
  return std::make_shared<SharedSecret>(SharedSecret::Parse(SharedSecret::NewText(), "f"));
}

std::pair<UniqueFd, UniqueFd> SocketPair(int flags) {
  int ends[2];
  if (::socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | flags, 0, ends) != 0) {
    ThrowErrno("no socket pair", "");
  }
  return {UniqueFd(ends[0]), UniqueFd(ends[1])};
}

kj::Own<kj::AsyncIoStream> WrapServer(kj::AsyncIoContext& io, UniqueFd fd) {
  constexpr kj::uint kFlags =
      kj::LowLevelAsyncIoProvider::TAKE_OWNERSHIP | kj::LowLevelAsyncIoProvider::ALREADY_NONBLOCK;
  return io.lowLevelProvider->wrapSocketFd(fd.release(), kFlags);
}

kj::Promise<void> RefusePlain(kj::AsyncIoStream& stream, const Error&) {
  return stream.write("plain", 5);
}

// A server of the name "s" in a thread, for one connection. It returns the bytes that come after
// the handshake.
class SecretEchoServer {
 public:
  explicit SecretEchoServer(std::shared_ptr<const SharedSecret> secret) {
    auto [client, server] = SocketPair(SOCK_NONBLOCK);
    client_ = std::move(client);
    thread_ = std::thread([this, secret, fd = server.release()] {
      auto io = kj::setupAsyncIo();
      try {
        auto stream = AcceptWithSecret(WrapServer(io, UniqueFd(fd)), secret, "s", "the client",
                                       io.provider->getTimer(), RefusePlain)
                          .wait(io.waitScope);
        char byte = 0;
        while (stream->tryRead(&byte, 1, 1).wait(io.waitScope) == 1) {
          stream->write(&byte, 1).wait(io.waitScope);
        }
      } catch (const kj::Exception& exception) {
        error_ = exception.getDescription().cStr();
      }
    });
  }
  ~SecretEchoServer() { Failure(); }
  UniqueFd TakeClientEnd() { return std::move(client_); }
  // Waits for the server's end and returns its error.
  std::string Failure() {
    client_.reset();
    if (thread_.joinable()) thread_.join();
    return error_;
  }

 private:
  UniqueFd client_;
  std::string error_;
  std::thread thread_;
};

void SendAll(int fd, const Bytes& bytes) {
  EXPECT_EQ(::send(fd, bytes.data(), bytes.size(), MSG_NOSIGNAL),
            static_cast<ssize_t>(bytes.size()));
}

// Receives exactly this many bytes, or those that come before the end.
Bytes ReceiveUpTo(int fd, size_t count) {
  Bytes bytes(count);
  size_t have = 0;
  for (ssize_t got = 1; have < count && got != 0;) {
    got = ::recv(fd, bytes.data() + have, count - have, 0);
    if (got > 0) have += static_cast<size_t>(got);
    if (got < 0 && errno == EAGAIN) ::usleep(1000);
    if (got < 0 && errno != EAGAIN) break;
  }
  bytes.resize(have);
  return bytes;
}

Bytes HelloOf(const SecretNonce& nonce) {
  Bytes hello;
  for (const char c : kSecretMagic) hello.push_back(static_cast<std::byte>(c));
  hello.insert(hello.end(), nonce.begin(), nonce.end());
  return hello;
}

// Returns the error of a client of the server "s" with this secret and this server's name.
std::string SecretClientError(int fd, const SharedSecret& secret, const std::string& name = "s",
                              std::chrono::milliseconds patience = kSecretPatience) {
  try {
    ConnectWithSecret(fd, secret, name, "the server", patience);
  } catch (const Error& error) {
    return StrCat(ErrorCodeName(error.code()), ": ", error.what());
  }
  return "no error";
}

TEST(SecretHandshake, BothSidesKnowTheSecretAndTheConnectionGoesOn) {
  const auto secret = NewSharedSecret();
  SecretEchoServer server(secret);
  {
    const UniqueFd fd = server.TakeClientEnd();
    EXPECT_EQ(SecretClientError(fd.get(), *secret), "no error");
    SendAll(fd.get(), {std::byte{7}});
    EXPECT_EQ(ReceiveUpTo(fd.get(), 1), Bytes{std::byte{7}});
  }
  EXPECT_THAT(server.Failure(), IsEmpty());
}

TEST(SecretHandshake, AWrongSecretOrNameIsAnErrorOnBothSides) {
  const auto secret = NewSharedSecret(), other = NewSharedSecret();
  for (const auto& [mine, name] : {std::pair{other, "s"}, std::pair{secret, "t"}}) {
    SecretEchoServer server(secret);
    {
      const UniqueFd fd = server.TakeClientEnd();
      EXPECT_THAT(SecretClientError(fd.get(), *mine, name),
                  AllOf(StartsWith("denied: the server does not know the shared secret"),
                        HasSubstr("GRAPHD_SECRET")));
    }
    EXPECT_EQ(server.Failure(), "the client has a wrong secret or another server name");
  }
}

TEST(SecretHandshake, AnAnswerThatWasRecordedOrSentBackIsRefused) {
  const auto secret = NewSharedSecret();
  const SecretNonce nonce = NewNonce();
  Bytes recorded;
  {
    // A client's honest connection, which somebody records.
    SecretEchoServer server(secret);
    const UniqueFd fd = server.TakeClientEnd();
    SendAll(fd.get(), HelloOf(nonce));
    const Bytes challenge = ReceiveUpTo(fd.get(), 80);
    ASSERT_EQ(challenge.size(), 80u);
    SecretNonce theirs;
    std::copy_n(challenge.begin() + 16, 32, theirs.begin());
    const SecretProof proof = secret->Prove(SecretSide::kClient, "s", nonce, theirs);
    recorded.assign(proof.begin(), proof.end());
    SendAll(fd.get(), recorded);
    EXPECT_EQ(ReceiveUpTo(fd.get(), 1), Bytes{kSecretWelcome});
  }
  const std::function<Bytes(const Bytes&)> lies[] = {
      [&](const Bytes&) { return recorded; },
      [](const Bytes& challenge) { return Bytes(challenge.end() - 32, challenge.end()); },
      [](const Bytes& challenge) { return Bytes(challenge.begin() + 16, challenge.begin() + 48); },
      [](const Bytes&) { return Bytes(32); }};
  for (const auto& lie : lies) {
    SecretEchoServer server(secret);
    {
      const UniqueFd fd = server.TakeClientEnd();
      SendAll(fd.get(), HelloOf(nonce));
      SendAll(fd.get(), lie(ReceiveUpTo(fd.get(), 80)));
      EXPECT_EQ(ReceiveUpTo(fd.get(), 2), Bytes{kSecretRefused});
    }
    EXPECT_EQ(server.Failure(), "the client has a wrong secret or another server name");
  }
}

TEST(SecretHandshake, AFalseServerGetsNoProof) {
  const auto secret = NewSharedSecret();
  // The false server answers with the client's own bytes, and with a proof of none.
  for (const bool reflects : {true, false}) {
    auto [client, server] = SocketPair(SOCK_NONBLOCK);
    std::string said;
    std::thread thread([&, fd = client.get()] { said = SecretClientError(fd, *secret); });
    const Bytes hello = ReceiveUpTo(server.get(), 48);
    Bytes challenge = reflects ? hello : HelloOf(NewNonce());
    challenge.insert(challenge.end(), 32, std::byte{1});
    SendAll(server.get(), challenge);
    EXPECT_EQ(ReceiveUpTo(server.get(), 32), Bytes(32));
    thread.join();
    EXPECT_THAT(said, StartsWith("denied: the server does not know the shared secret"));
  }
}

TEST(SecretHandshake, AServerThatAsksForNoSecretIsNamed) {
  const auto secret = NewSharedSecret();
  for (const std::string& answer :
       {std::string(1, '\0'), std::string("graphd-sec!"), std::string("\x16\x03\x03")}) {
    auto [client, server] = SocketPair(SOCK_NONBLOCK);
    ASSERT_EQ(::send(server.get(), answer.data(), answer.size(), 0),
              static_cast<ssize_t>(answer.size()));
    EXPECT_THAT(SecretClientError(client.get(), *secret),
                AllOf(StartsWith("denied: the server does not ask for the shared secret"),
                      HasSubstr("--secret")));
  }
  auto [client, server] = SocketPair(SOCK_NONBLOCK);
  EXPECT_THAT(SecretClientError(client.get(), *secret, "s", std::chrono::milliseconds(50)),
              StartsWith("deadline: the server did not answer the handshake with the shared secret "
                         "within 50 ms"));
  server.reset();
  EXPECT_THAT(SecretClientError(client.get(), *secret), StartsWith("unavailable: "));
}

TEST(SecretHandshake, AClientWithoutASecretIsTold) {
  const auto secret = NewSharedSecret();
  for (const std::string& begin : {std::string(8, '\0'), std::string("\x16"), std::string("graphx"),
                                   std::string("graphd-secret-2\n")}) {
    SecretEchoServer server(secret);
    {
      const UniqueFd fd = server.TakeClientEnd();
      ASSERT_EQ(::send(fd.get(), begin.data(), begin.size(), 0),
                static_cast<ssize_t>(begin.size()));
      EXPECT_EQ(ReceiveUpTo(fd.get(), 6).size(), 5u);  // "plain"
    }
    EXPECT_THAT(server.Failure(),
                AllOf(StartsWith("the client does not prove that it knows the shared secret"),
                      HasSubstr("GRAPHD_SECRET")));
  }
}

TEST(SecretHandshake, ClosedConnectionsAreNamedInEachState) {
  const auto secret = NewSharedSecret();
  Bytes sent = HelloOf(NewNonce());
  sent.insert(sent.end(), 31, std::byte{1});
  for (const size_t count : {0, 1, 47, 48, 79}) {
    SecretEchoServer server(secret);
    SendAll(server.TakeClientEnd().get(), Bytes(sent.begin(), sent.begin() + count));
    EXPECT_EQ(server.Failure(),
              "the client has closed the connection without a proof of the shared secret");
  }
}

TEST(SecretHandshake, SilenceEndsAtTheDeadline) {
  const auto secret = NewSharedSecret();
  Bytes sent = HelloOf(NewNonce());
  for (const size_t count : {0, 20, 48}) {
    auto io = kj::setupAsyncIo();
    auto [client, server] = SocketPair(SOCK_NONBLOCK);
    kj::TimerImpl timer(kj::origin<kj::TimePoint>());
    auto accepted = AcceptWithSecret(WrapServer(io, std::move(server)), secret, "s", "the client",
                                     timer, RefusePlain);
    SendAll(client.get(), Bytes(sent.begin(), sent.begin() + count));
    timer.advanceTo(timer.now() + (kHandshakeLimit.count() * kj::SECONDS - 1 * kj::MILLISECONDS));
    EXPECT_FALSE(accepted.poll(io.waitScope));
    timer.advanceTo(timer.now() + 1 * kj::MILLISECONDS);
    try {
      accepted.wait(io.waitScope);
      ADD_FAILURE() << "accepted";
    } catch (const kj::Exception& exception) {
      EXPECT_THAT(exception.getDescription().cStr(),
                  StartsWith("the client did not prove that it knows the shared secret within 10"));
    }
  }
}

}  // namespace
}  // namespace graphd::testing
