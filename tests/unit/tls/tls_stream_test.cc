// SPDX-License-Identifier: Apache-2.0
// Tests of TLS between a client and a server in threads, and of peers that misbehave.
#include "tls/tls_stream.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <kj/async-io.h>
#include <kj/vector.h>
#include <sys/socket.h>

#include <cstring>
#include <thread>
#include <vector>

#include "base/clock.h"
#include "base/file.h"
#include "base/strings.h"
#include "tests/unit/tls/random_bytes.h"
#include "tests/unit/tls/test_keys.h"
#include "tls/tls_connect.h"

namespace graphd::testing {
namespace {

using ::testing::AllOf;
using ::testing::AnyOf;
using ::testing::HasSubstr;
using ::testing::StartsWith;

constexpr std::chrono::seconds kPatience{10};

kj::Own<kj::AsyncIoStream> Wrap(kj::AsyncIoContext& io, UniqueFd fd) {
  constexpr kj::uint kFlags =
      kj::LowLevelAsyncIoProvider::TAKE_OWNERSHIP | kj::LowLevelAsyncIoProvider::ALREADY_NONBLOCK;
  return io.lowLevelProvider->wrapSocketFd(fd.release(), kFlags);
}

// A server that answers each message (its length in 8 bytes, and then its bytes) with the same
// message, in one write of many pieces of `piece` bytes.
class EchoServer {
 public:
  EchoServer(std::shared_ptr<const TlsCredentials> credentials, size_t piece = 1000) {
    int ends[2];
    if (::socketpair(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0, ends) != 0) {
      ThrowErrno("no socket pair", "");
    }
    client_ = UniqueFd(ends[0]);
    thread_ = std::thread([this, credentials, piece, fd = ends[1]] {
      auto io = kj::setupAsyncIo();
      try {
        auto stream =
            AcceptTls(Wrap(io, UniqueFd(fd)), credentials, "the client", io.provider->getTimer(),
                      {Refuse,
                       [this] {
                         turns_++;
                         return kj::READY_NOW;
                       }})
                .wait(io.waitScope);
        name_ = stream->session().peer_name();
        while (Echo(*stream, io, piece)) {
        }
      } catch (const kj::Exception& exception) {
        error_ = exception.getDescription().cStr();
      }
    });
  }
  ~EchoServer() { Join(); }
  UniqueFd TakeClientEnd() { return std::move(client_); }
  // Waits for the server's end and returns its error.
  std::string Failure() {
    Join();
    return error_;
  }
  std::string name() {
    Join();
    return name_;
  }
  // Returns how many turns the handshake has taken.
  int turns() {
    Join();
    return turns_;
  }

 private:
  static kj::Promise<void> Refuse(kj::AsyncIoStream& stream, const Error&) {
    return stream.write("plain", 5);
  }
  static bool Echo(TlsStream& stream, kj::AsyncIoContext& io, size_t piece) {
    uint64_t size = 0;
    if (stream.tryRead(&size, 8, 8).wait(io.waitScope) < 8) return false;
    std::vector<kj::byte> message(size);
    if (stream.tryRead(message.data(), size, size).wait(io.waitScope) < size) return false;
    kj::Vector<kj::ArrayPtr<const kj::byte>> pieces;
    pieces.add(kj::arrayPtr(reinterpret_cast<const kj::byte*>(&size), sizeof size));
    for (size_t at = 0; at < size; at += piece) {
      pieces.add(kj::arrayPtr(message.data() + at, std::min(piece, size - at)));
      pieces.add(nullptr);
    }
    stream.write(pieces.asPtr()).wait(io.waitScope);
    return true;
  }
  void Join() {
    client_.reset();
    if (thread_.joinable()) thread_.join();
  }

  UniqueFd client_;
  std::string name_, error_;
  int turns_ = 0;
  std::thread thread_;
};

// A client's end of a connection, on the thread of the test.
class Client {
 public:
  Client(UniqueFd fd, std::shared_ptr<const TlsCredentials> credentials) {
    auto session = ConnectTls(fd.get(), std::move(credentials), "the server", kPatience);
    stream_ = kj::heap<TlsStream>(Wrap(io_, std::move(fd)), std::move(session));
  }
  TlsStream& stream() { return *stream_; }
  kj::WaitScope& scope() { return io_.waitScope; }
  // Sends a message and reads its answer, both at the same time.
  std::vector<kj::byte> Echo(const std::vector<kj::byte>& message) {
    const uint64_t size = message.size();
    uint64_t answered = 0;
    std::vector<kj::byte> answer(size);
    const kj::ArrayPtr<const kj::byte> pieces[] = {
        kj::arrayPtr(reinterpret_cast<const kj::byte*>(&size), sizeof size),
        kj::arrayPtr(message.data(), size)};
    auto written = stream_->write(kj::arrayPtr(pieces, 2)).eagerlyEvaluate(nullptr);
    stream_->read(&answered, 8).wait(scope());
    EXPECT_EQ(answered, size);
    stream_->read(answer.data(), size).wait(scope());
    written.wait(scope());
    return answer;
  }

 private:
  kj::AsyncIoContext io_ = kj::setupAsyncIo();
  kj::Own<TlsStream> stream_;
};

// Returns the error of a client's handshake, and that of the server.
std::pair<std::string, std::string> HandshakeErrors(std::shared_ptr<const TlsCredentials> server,
                                                    std::shared_ptr<const TlsCredentials> client) {
  EchoServer echo(std::move(server));
  std::string error = "no error";
  {
    const UniqueFd fd = echo.TakeClientEnd();
    try {
      ConnectTls(fd.get(), std::move(client), "the server", kPatience);
    } catch (const Error& thrown) {
      error = StrCat(ErrorCodeName(thrown.code()), ": ", thrown.what());
    }
  }
  return {error, echo.Failure()};
}

TEST(TlsStreams, CarryMessagesOfAllSizes) {
  TestKeys keys("products");
  for (const size_t piece : {1UL, 1000UL, 16384UL, 100000UL}) {
    EchoServer echo(keys.Server(), piece);
    Client client(echo.TakeClientEnd(), keys.Client());
    const size_t most = piece == 1 ? 20000 : 3000000;
    for (const size_t size : {0UL, 1UL, 7UL, 16383UL, 16384UL, 16385UL, 262144UL, 3000000UL}) {
      const auto message = RandomBytes<std::vector<kj::byte>>(std::min(size, most), size);
      EXPECT_EQ(client.Echo(message), message) << size << " in pieces of " << piece;
    }
  }
}

TEST(TlsHandshakes, EachStepOfTheServerTakesATurn) {
  TestKeys keys("products");
  EchoServer echo(keys.Server());
  { Client client(echo.TakeClientEnd(), keys.Client()); }
  EXPECT_GE(echo.turns(), 2);
}

TEST(TlsStreams, TheServerKnowsTheClientsName) {
  TestKeys keys("products");
  keys.AddClient("alice");
  EchoServer echo(keys.Server());
  { Client client(echo.TakeClientEnd(), keys.Client("alice")); }
  EXPECT_EQ(echo.name(), "alice");
  EXPECT_EQ(echo.Failure(), "");
}

TEST(TlsStreams, EndWithoutAnErrorWhenOneSideCloses) {
  TestKeys keys("products");
  EchoServer echo(keys.Server());
  Client client(echo.TakeClientEnd(), keys.Client());
  client.stream().shutdownWrite();
  kj::byte byte = 0;
  EXPECT_EQ(client.stream().tryRead(&byte, 1, 1).wait(client.scope()), 0U);
  EXPECT_EQ(echo.Failure(), "");
}

TEST(TlsHandshakes, RefuseAnotherAuthority) {
  TestKeys keys("products"), others("products");
  const auto [client, server] = HandshakeErrors(keys.Server(), others.Client());
  EXPECT_THAT(client, AllOf(StartsWith("denied: the certificate 'products' of the server is not "
                                       "signed by the authority in"),
                            HasSubstr("ca.pem")));
  EXPECT_THAT(server, HasSubstr("the client refuses the certificate 'products'"));
}

TEST(TlsHandshakes, RefuseAClientOfAnotherAuthority) {
  TestKeys keys("products"), others("products");
  // The client trusts the server, but its own certificate is of another authority.
  const auto foreign = others.Directory("trainer");
  foreign.Write("ca.pem", keys.Directory("trainer").Read("ca.pem"));
  const auto [client, server] = HandshakeErrors(keys.Server(), others.Client());
  EXPECT_THAT(client, AllOf(StartsWith("denied: the server refuses the certificate 'trainer'"),
                            HasSubstr("not signed")));
  EXPECT_THAT(server, AllOf(HasSubstr("the certificate 'trainer' of the client is not signed")));
}

TEST(TlsHandshakes, RefuseExpiredCertificates) {
  TestKeys keys("products");
  keys.AddClient("old", CertificateKind::kClient, -1);
  const auto [client, server] = HandshakeErrors(keys.Server(), keys.Client("old"));
  EXPECT_THAT(client, AllOf(StartsWith("denied: "), HasSubstr("it has expired")));
  EXPECT_THAT(server, HasSubstr("the certificate 'old' of the client has expired"));
  keys.AddServer("old server", "", CertificateKind::kServer, -1);
  EXPECT_THAT(HandshakeErrors(keys.Server("old server"), keys.Client()).first,
              StartsWith("denied: the certificate 'products' of the server has expired"));
}

TEST(TlsHandshakes, RefuseRevokedCertificates) {
  TestKeys keys("products");
  keys.AddClient("alice");
  keys.Revoke("server", "trainer");
  const auto [client, server] = HandshakeErrors(keys.Server(), keys.Client());
  EXPECT_THAT(client, AllOf(StartsWith("denied: "), HasSubstr("it is revoked")));
  EXPECT_THAT(server, HasSubstr("the certificate 'trainer' of the client is revoked"));
  EXPECT_EQ(HandshakeErrors(keys.Server(), keys.Client("alice")).first, "no error");
}

TEST(TlsHandshakes, TellServersFromClients) {
  TestKeys keys("products");
  // The owner of a client's key can't pretend to be the server, even with the server's name.
  keys.AddClient("products");
  const auto stolen = keys.Client("products");
  auto thief = std::make_shared<TlsCredentials>(*keys.Server());
  thief->context.reset(SSL_CTX_new(TLS_server_method()), SSL_CTX_free);
  SSL_CTX_use_certificate(thief->context.get(), SSL_CTX_get0_certificate(stolen->context.get()));
  SSL_CTX_use_PrivateKey(thief->context.get(), SSL_CTX_get0_privatekey(stolen->context.get()));
  EXPECT_THAT(HandshakeErrors(thief, keys.Client()).first,
              AllOf(StartsWith("denied: "), HasSubstr("is not that of a server")));
}

TEST(TlsHandshakes, RefuseTheServerOfAnotherName) {
  TestKeys keys("products");
  keys.AddServer("papers", "papers");
  const auto papers = TlsKeys(keys.Directory("papers"), "papers", TlsSide::kServer).Current();
  EXPECT_THAT(HandshakeErrors(papers, keys.Client()).first,
              StartsWith("denied: the certificate 'papers' of the server is not that of server "
                         "'products'"));
}

TEST(TlsHandshakes, RefuseOlderVersions) {
  TestKeys keys("products");
  auto old = std::make_shared<TlsCredentials>(*keys.Client());
  SSL_CTX_set_min_proto_version(old->context.get(), TLS1_2_VERSION);
  SSL_CTX_set_max_proto_version(old->context.get(), TLS1_2_VERSION);
  EXPECT_THAT(HandshakeErrors(keys.Server(), old).first,
              AllOf(StartsWith("denied: "), HasSubstr("TLS 1.3")));
}

TEST(TlsHandshakes, APlaintextClientIsToldWhatToDo) {
  TestKeys keys("products");
  EchoServer echo(keys.Server());
  const UniqueFd fd = echo.TakeClientEnd();
  const char message[16] = {};
  ASSERT_EQ(::send(fd.get(), message, sizeof message, 0), 16);
  EXPECT_THAT(echo.Failure(),
              AllOf(HasSubstr("the client does not speak TLS"), HasSubstr("--keys, GRAPHD_KEYS")));
  char answer[8] = {};
  EXPECT_EQ(::recv(fd.get(), answer, sizeof answer, 0), 5);
}

// Runs a client's handshake against a peer that sends these bytes and, if `ends`, closes.
std::string ErrorAgainst(const std::string& bytes, bool ends, std::chrono::milliseconds patience) {
  TestKeys keys("products");
  int ends_of_pair[2];
  EXPECT_EQ(::socketpair(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0, ends_of_pair), 0);
  const UniqueFd ours(ends_of_pair[0]);
  UniqueFd theirs(ends_of_pair[1]);
  EXPECT_EQ(::send(theirs.get(), bytes.data(), bytes.size(), 0),
            static_cast<ssize_t>(bytes.size()));
  if (ends) ::shutdown(theirs.get(), SHUT_WR);
  try {
    ConnectTls(ours.get(), keys.Client(), "the server", patience);
  } catch (const Error& error) {
    return StrCat(ErrorCodeName(error.code()), ": ", error.what());
  }
  return "no error";
}

TEST(TlsHandshakes, APlaintextServerIsToldApart) {
  EXPECT_THAT(ErrorAgainst(std::string(64, '\0'), false, kPatience),
              AllOf(StartsWith("denied: the server does not speak TLS"), HasSubstr("--keys")));
}

TEST(TlsHandshakes, GarbageAndEndsAreErrors) {
  EXPECT_THAT(ErrorAgainst("", true, kPatience), StartsWith("unavailable: the server has closed"));
  EXPECT_THAT(ErrorAgainst("\x16\x03\x03", true, kPatience), StartsWith("unavailable: "));
  EXPECT_THAT(ErrorAgainst(std::string("\x16\x03\x03\x01\x00", 5) + std::string(300, 'x'), false,
                           kPatience),
              StartsWith("denied: "));
  for (uint64_t seed = 0; seed < 50; seed++) {
    auto bytes = RandomBytes<std::vector<kj::byte>>(500, seed);
    bytes[0] = 0x16;
    EXPECT_THAT(ErrorAgainst({bytes.begin(), bytes.end()}, true, kPatience),
                AnyOf(StartsWith("denied: "), StartsWith("unavailable: ")));
  }
}

TEST(TlsHandshakes, GarbageFromClientsIsAnErrorAtEveryPoint) {
  TestKeys keys("products");
  for (uint64_t seed = 0; seed < 50; seed++) {
    EchoServer echo(keys.Server());
    const UniqueFd fd = echo.TakeClientEnd();
    auto bytes = RandomBytes<std::vector<kj::byte>>(500, seed);
    if (seed % 2 == 0) {
      bytes[0] = 0x16;
    } else {
      // A valid first message with a byte changed, followed by garbage.
      TlsSession session(keys.Client(), "the server");
      EXPECT_FALSE(session.Handshake());
      const auto hello = session.Output();
      std::vector<kj::byte> begin(hello.size());
      std::memcpy(begin.data(), hello.data(), hello.size());
      begin[5 + seed * 7 % (begin.size() - 5)] ^= 0x55;
      bytes.insert(bytes.begin(), begin.begin(), begin.end());
    }
    EXPECT_EQ(::send(fd.get(), bytes.data(), bytes.size(), MSG_NOSIGNAL),
              static_cast<ssize_t>(bytes.size()));
    ::shutdown(fd.get(), SHUT_WR);
    EXPECT_NE(echo.Failure(), "") << seed;
  }
}

TEST(TlsHandshakes, ASilentServerIsGivenUp) {
  EXPECT_THAT(ErrorAgainst("", false, std::chrono::milliseconds(50)),
              StartsWith("deadline: the server did not answer the TLS handshake within 50 ms"));
}

TEST(TlsHandshakes, ASilentClientIsGivenUp) {
  TestKeys keys("products");
  int ends[2];
  ASSERT_EQ(::socketpair(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0, ends), 0);
  const UniqueFd silent(ends[0]);
  auto io = kj::setupAsyncIo();
  // The time is the test's: nobody waits for ten seconds.
  kj::TimerImpl timer(kj::origin<kj::TimePoint>());
  auto accepted = AcceptTls(Wrap(io, UniqueFd(ends[1])), keys.Server(), "the client", timer,
                            {[](kj::AsyncIoStream&, const Error&) { return kj::READY_NOW; }});
  EXPECT_FALSE(accepted.poll(io.waitScope));
  timer.advanceTo(kj::origin<kj::TimePoint>() + 9 * kj::SECONDS);
  EXPECT_FALSE(accepted.poll(io.waitScope));
  timer.advanceTo(kj::origin<kj::TimePoint>() + 11 * kj::SECONDS);
  EXPECT_TRUE(accepted.poll(io.waitScope));
  try {
    accepted.wait(io.waitScope);
    FAIL();
  } catch (const kj::Exception& exception) {
    EXPECT_THAT(exception.getDescription().cStr(), HasSubstr("within 10 s"));
  }
}

// Receives once, and returns the error of decrypting it.
std::string WhatIsReceived(int fd, TlsSession& session) {
  const auto room = session.InputRoom();
  const ssize_t count = ::recv(fd, room.data(), room.size(), 0);
  if (count < 0) return "nothing";
  try {
    session.Received(static_cast<size_t>(count));
    std::vector<std::byte> plain(100);
    return StrCat(session.Decrypt(plain), " bytes");
  } catch (const Error& error) {
    return error.what();
  }
}

TEST(TlsStreams, ATruncatedRecordIsTheEndAndADamagedOneAnError) {
  TestKeys keys("products");
  for (const bool is_damaged : {false, true}) {
    EchoServer echo(keys.Server());
    const UniqueFd fd = echo.TakeClientEnd();
    auto session = ConnectTls(fd.get(), keys.Client(), "the server", kPatience);
    std::vector<std::byte> message(1000);
    session->Encrypt(message);
    const auto output = session->Output();
    std::vector<std::byte> record(output.begin(), output.end());
    if (is_damaged) {
      record[500] ^= std::byte{1};
    } else {
      record.resize(500);
    }
    ASSERT_EQ(::send(fd.get(), record.data(), record.size(), 0),
              static_cast<ssize_t>(record.size()));
    ::shutdown(fd.get(), SHUT_WR);
    const std::string error = echo.Failure();
    if (is_damaged) {
      EXPECT_THAT(error, HasSubstr("is broken"));
      EXPECT_EQ(WhatIsReceived(fd.get(), *session),
                "the TLS connection with the server is broken: the peer reports: bad record mac");
    } else {
      EXPECT_EQ(error, "");
    }
  }
}

}  // namespace
}  // namespace graphd::testing
