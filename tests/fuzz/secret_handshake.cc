// SPDX-License-Identifier: Apache-2.0
#include "tls/secret_handshake.h"

#include <kj/async-io.h>
#include <kj/timer.h>
#include <sys/socket.h>

#include <cstdio>
#include <cstdlib>

#include "base/file.h"
#include "tests/fuzz/support/target.h"

// Plays a peer that does not know the shared secret: the first byte of the input says whether it
// faces a server or a client, and in which pieces the others reach a server. No input may be
// accepted. Inputs for neither are files with a secret.

namespace graphd::fuzz {
namespace {

constexpr char kServer = 0, kClient = 1, kFile = 2;

[[noreturn]] void Accepted(const char* side) {
  std::fprintf(stderr, "the %s accepts a peer that does not know the secret\n", side);
  std::abort();
}

kj::Promise<void> Send(kj::AsyncIoStream& to, std::string_view bytes, size_t step) {
  if (bytes.empty()) {
    to.shutdownWrite();
    return kj::READY_NOW;
  }
  const std::string_view piece = bytes.substr(0, step);
  return to.write(piece.data(), piece.size()).then([&to, bytes, piece, step] {
    return Send(to, bytes.substr(piece.size()), step);
  });
}

kj::Promise<void> Drain(kj::AsyncIoStream& from, kj::ArrayPtr<kj::byte> scratch) {
  return from.tryRead(scratch.begin(), 1, scratch.size())
      .then([&from, scratch](size_t got) -> kj::Promise<void> {
        if (got == 0) return kj::READY_NOW;
        return Drain(from, scratch);
      });
}

void FaceServer(std::string_view bytes, size_t step,
                const std::shared_ptr<const SharedSecret>& secret) {
  static auto io = kj::setupAsyncIo();
  kj::TimerImpl timer(kj::origin<kj::TimePoint>());
  auto pipe = kj::newTwoWayPipe();
  auto mine = kj::mv(pipe.ends[1]);
  kj::byte scratch[256];
  auto sent = Send(*mine, bytes, step).eagerlyEvaluate(nullptr);
  auto drained = Drain(*mine, kj::arrayPtr(scratch, sizeof scratch)).eagerlyEvaluate(nullptr);
  try {
    AcceptWithSecret(
        kj::mv(pipe.ends[0]), secret, "s", "the client", timer,
        [](kj::AsyncIoStream& stream, const Error&) { return stream.write("plain", 5); })
        .wait(io.waitScope);
  } catch (const kj::Exception&) {
    return;  // the connection is closed
  }
  Accepted("server");
}

void FaceClient(std::string_view bytes, const SharedSecret& secret) {
  int ends[2];
  if (::socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0, ends) != 0) {
    ThrowErrno("can't make", "a socket pair");
  }
  const UniqueFd mine(ends[0]), theirs(ends[1]);
  bytes = bytes.substr(0, size_t{1} << 14);  // the socket has room for it
  if (::send(mine.get(), bytes.data(), bytes.size(), MSG_NOSIGNAL) < 0) return;
  ::shutdown(mine.get(), SHUT_WR);
  try {
    ConnectWithSecret(theirs.get(), secret, "s", "the server", std::chrono::seconds(5));
  } catch (const Error& error) {
    return CheckError(error);
  }
  Accepted("client");
}

}  // namespace

void ReadInput(std::string_view input) {
  static const auto secret = std::make_shared<const SharedSecret>(
      SharedSecret::Parse(SharedSecret::NewText(), "the secret"));
  if (input.empty()) return;
  const std::string_view rest = input.substr(1);
  if ((input[0] & 3) == kServer) {
    FaceServer(rest, static_cast<uint8_t>(input[0]) / 4 + size_t{1}, secret);
  } else if ((input[0] & 3) == kClient) {
    FaceClient(rest, *secret);
  } else {
    SharedSecret::Parse(std::string(rest), "the file");
  }
}

std::vector<std::string> Seeds() {
  const std::string hello =
      std::string(kSecretMagic.begin(), kSecretMagic.end()) + std::string(32, 'n');
  const std::string proof(32, 'p');
  return {std::string(1, '\xfc') + hello + proof,
          std::string(1, kServer) + hello,
          std::string(1, '\xfc') + std::string(64, '\0'),
          std::string(1, kClient) + hello + proof,
          std::string(1, kClient) + std::string(8, '\0'),
          std::string(1, kFile) + SharedSecret::NewText()};
}

}  // namespace graphd::fuzz
