// SPDX-License-Identifier: Apache-2.0
#include "tls/secret_handshake.h"

#include <algorithm>
#include <cstring>

#include "base/strings.h"
#include "tls/handshake_socket.h"

namespace graphd {
namespace {

constexpr size_t kNonceAt = kSecretMagic.size();
constexpr size_t kHelloBytes = kNonceAt + sizeof(SecretNonce);
constexpr size_t kChallengeBytes = kHelloBytes + sizeof(SecretProof);

template <size_t N>
void Put(const std::array<std::byte, N>& from, std::byte* to) {
  std::copy(from.begin(), from.end(), to);
}

std::array<std::byte, kHelloBytes> Hello(const SecretNonce& nonce) {
  std::array<std::byte, kHelloBytes> bytes;
  std::memcpy(bytes.data(), kSecretMagic.data(), kSecretMagic.size());
  Put(nonce, bytes.data() + kNonceAt);
  return bytes;
}

// Returns whether these bytes can be the beginning of a hello (the first message of either side).
bool BeginsHello(const std::byte* bytes, size_t count) {
  return std::memcmp(bytes, kSecretMagic.data(), std::min(count, kSecretMagic.size())) == 0;
}

}  // namespace

void ConnectWithSecret(int fd, const SharedSecret& secret, const std::string& server_name,
                       const std::string& peer, std::chrono::milliseconds timeout) {
  HandshakeSocket socket(fd, peer, "the handshake with the shared secret", "--secret", timeout);
  const SecretNonce mine = NewNonce();
  socket.Send(Hello(mine));
  std::array<std::byte, kChallengeBytes> challenge;
  for (size_t have = 0; have < challenge.size();) {
    have += socket.Receive(std::span(challenge).subspan(have));
    if (!BeginsHello(challenge.data(), have)) {
      Throw(ErrorCode::kDenied, peer, " does not ask for the shared secret that this client has ",
            "(GRAPHD_SECRET, --secret); start that graphd with --secret, or connect as it wants");
    }
  }
  SecretNonce theirs;
  std::copy_n(challenge.begin() + kNonceAt, theirs.size(), theirs.begin());
  const SecretProof expected = secret.Prove(SecretSide::kServer, server_name, mine, theirs);
  if (!EqualProofs(expected, std::span(challenge).last<sizeof(SecretProof)>())) {
    // A wrong proof tells the server that this client does not trust it. It does not matter if it
    // can't be sent.
    try {
      socket.Send(SecretProof{});
    } catch (const Error&) {
    }
    Throw(ErrorCode::kDenied, peer, " does not know the shared secret of server '", server_name,
          "'; check that it has the same file (GRAPHD_SECRET here, --secret there), and the ",
          "server's name");
  }
  socket.Send(secret.Prove(SecretSide::kClient, server_name, mine, theirs));
  std::byte verdict{};
  socket.Receive({&verdict, 1});
  if (verdict != kSecretWelcome) {
    Throw(ErrorCode::kDenied, peer, " refuses the shared secret of this client; see its log");
  }
}

namespace {

kj::Exception AsFailure(const Error& error) {
  return {kj::Exception::Type::FAILED, __FILE__, __LINE__, kj::heapString(error.what())};
}

kj::Exception ClosedByClient(const std::string& peer) {
  return AsFailure(Error(ErrorCode::kUnavailable,
                         peer + " has closed the connection without a proof of the shared secret"));
}

// A server's handshake that is under way.
struct Challenging {
  kj::Own<kj::AsyncIoStream> socket;
  const std::shared_ptr<const SharedSecret> secret;
  const std::string server_name, peer;
  kj::Function<kj::Promise<void>(kj::AsyncIoStream&, const Error&)> refuse;
  std::array<std::byte, kHelloBytes> hello{};
  std::array<std::byte, kChallengeBytes> challenge{};
  SecretProof expected{}, answer{};
  std::byte verdict{};
};

// Receives the rest of the client's hello.
kj::Promise<void> ReadHello(Challenging& c, size_t have) {
  if (have == c.hello.size()) return kj::READY_NOW;
  return c.socket->tryRead(c.hello.data() + have, 1, c.hello.size() - have)
      .then([&c, have](size_t got) -> kj::Promise<void> {
        if (got == 0) return ClosedByClient(c.peer);
        if (BeginsHello(c.hello.data(), have + got)) return ReadHello(c, have + got);
        const Error error(
            ErrorCode::kDenied,
            c.peer +
                " does not prove that it knows the shared secret, and this graphd (--secret) takes "
                "nothing else over TCP; give the client the secret: --secret, GRAPHD_SECRET");
        return kj::evalNow([&c, &error] { return c.refuse(*c.socket, error); })
            .catch_([](kj::Exception&&) {})
            .then([error]() -> kj::Promise<void> { return AsFailure(error); });
      });
}

kj::Promise<void> Challenge(Challenging& c) {
  SecretNonce theirs;
  std::copy_n(c.hello.begin() + kNonceAt, theirs.size(), theirs.begin());
  const SecretNonce mine = NewNonce();
  Put(Hello(mine), c.challenge.data());
  Put(c.secret->Prove(SecretSide::kServer, c.server_name, theirs, mine),
      c.challenge.data() + kHelloBytes);
  c.expected = c.secret->Prove(SecretSide::kClient, c.server_name, theirs, mine);
  return c.socket->write(c.challenge.data(), c.challenge.size())
      .then([&c] { return c.socket->tryRead(c.answer.data(), c.answer.size(), c.answer.size()); })
      .then([&c](size_t got) -> kj::Promise<void> {
        if (got < c.answer.size()) return ClosedByClient(c.peer);
        const bool right = EqualProofs(c.expected, c.answer);
        c.verdict = right ? kSecretWelcome : kSecretRefused;
        return kj::evalNow([&c] { return c.socket->write(&c.verdict, 1); })
            .catch_([](kj::Exception&&) {})  // the client has gone, which is noticed later
            .then([&c, right]() -> kj::Promise<void> {
              if (right) return kj::READY_NOW;
              return AsFailure(
                  Error(ErrorCode::kDenied, c.peer + " has a wrong secret or another server name"));
            });
      });
}

}  // namespace

kj::Promise<kj::Own<kj::AsyncIoStream>> AcceptWithSecret(
    kj::Own<kj::AsyncIoStream> socket, std::shared_ptr<const SharedSecret> secret,
    const std::string& server_name, const std::string& peer, kj::Timer& timer,
    kj::Function<kj::Promise<void>(kj::AsyncIoStream&, const Error&)> refuse) {
  auto challenging = kj::heap<Challenging>(
      Challenging{kj::mv(socket), std::move(secret), server_name, peer, kj::mv(refuse)});
  Challenging& c = *challenging;
  auto late =
      timer.afterDelay(kHandshakeLimit.count() * kj::SECONDS).then([peer]() -> kj::Promise<void> {
        return AsFailure(
            Error(ErrorCode::kDeadline,
                  StrCat(peer, " did not prove that it knows the shared secret within ",
                         kHandshakeLimit.count(), " s")));
      });
  return ReadHello(c, 0)
      .then([&c] { return Challenge(c); })
      .catch_([peer](kj::Exception&& exception) -> kj::Promise<void> {
        if (exception.getType() != kj::Exception::Type::DISCONNECTED) return kj::mv(exception);
        return ClosedByClient(peer);
      })
      .exclusiveJoin(kj::mv(late))
      .then([challenging = kj::mv(challenging)]() mutable { return kj::mv(challenging->socket); });
}

}  // namespace graphd
