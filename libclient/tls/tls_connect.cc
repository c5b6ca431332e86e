// SPDX-License-Identifier: Apache-2.0
#include "tls/tls_connect.h"

#include <poll.h>
#include <sys/socket.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <utility>

#include "base/clock.h"
#include "base/interrupt.h"
#include "base/strings.h"

namespace graphd {
namespace {

// A socket with a deadline.
class TimedSocket {
 public:
  TimedSocket(int fd, std::string peer, std::chrono::milliseconds timeout)
      : fd_(fd),
        peer_(std::move(peer)),
        timeout_(std::min<std::chrono::milliseconds>(timeout, kTlsHandshakeLimit)) {}

  void Send(std::span<const std::byte> bytes) {
    while (!bytes.empty()) {
      const ssize_t sent = ::send(fd_, bytes.data(), bytes.size(), MSG_NOSIGNAL);
      if (sent >= 0) {
        bytes = bytes.subspan(static_cast<size_t>(sent));
      } else {
        WaitAfterErrno(POLLOUT);
      }
    }
  }
  size_t Receive(std::span<std::byte> room) {
    for (;;) {
      const ssize_t received = ::recv(fd_, room.data(), room.size(), 0);
      if (received > 0) return static_cast<size_t>(received);
      if (received == 0) {
        Throw(ErrorCode::kUnavailable, peer_,
              " has closed the connection during the TLS handshake; see its log (a graphd without "
              "--keys does not speak TLS)");
      }
      WaitAfterErrno(POLLIN);
    }
  }

 private:
  void WaitAfterErrno(short events) {
    if (errno == EINTR) return;
    if (errno != EAGAIN && errno != EWOULDBLOCK) {
      Throw(ErrorCode::kUnavailable, "the TLS handshake with ", peer_,
            " failed: ", std::strerror(errno));
    }
    pollfd wait{fd_, events, 0};
    while (::poll(&wait, 1, static_cast<int>(kInterruptPause.count())) <= 0) {
      Interruptions::Check();
      if (Clock::now() - start_ > timeout_) {
        Throw(ErrorCode::kDeadline, peer_, " did not answer the TLS handshake within ",
              timeout_.count(), " ms; is it a graphd with --keys, and is it overloaded?");
      }
    }
  }

  const int fd_;
  const std::string peer_;
  const std::chrono::milliseconds timeout_;
  const Clock::time_point start_ = Clock::now();
};

}  // namespace

std::unique_ptr<TlsSession> ConnectTls(int fd, std::shared_ptr<const TlsCredentials> credentials,
                                       const std::string& peer, std::chrono::milliseconds timeout) {
  auto session = std::make_unique<TlsSession>(std::move(credentials), peer);
  TimedSocket socket(fd, peer, timeout);
  const auto flush = [&] {
    socket.Send(session->Output());
    session->Sent();
  };
  const auto receive = [&] { session->Received(socket.Receive(session->InputRoom())); };
  try {
    while (!session->Handshake()) {
      flush();
      receive();
    }
    flush();
    std::byte welcome{};
    while (session->Decrypt({&welcome, 1}) == 0) {
      if (session->is_closed()) {
        Throw(ErrorCode::kUnavailable, peer, " has closed the connection; see its log");
      }
      receive();
    }
    if (welcome != kTlsWelcome) {
      Throw(ErrorCode::kVersion, peer, " is not a graphd of this version");
    }
    return session;
  } catch (const Error& error) {
    if (error.code() == ErrorCode::kDenied) {
      // The alert tells the server the reason; if it can't be sent, our error is the same.
      const auto alert = session->Output();
      if (!alert.empty()) ::send(fd, alert.data(), alert.size(), MSG_NOSIGNAL | MSG_DONTWAIT);
    }
    throw;
  }
}

}  // namespace graphd
