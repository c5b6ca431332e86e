// SPDX-License-Identifier: Apache-2.0
#include "tls/handshake_socket.h"

#include <poll.h>
#include <sys/socket.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <utility>

#include "base/interruptions.h"
#include "base/strings.h"

namespace graphd {

HandshakeSocket::HandshakeSocket(int fd, std::string peer, std::string handshake,
                                 std::string option, std::chrono::milliseconds timeout)
    : fd_(fd),
      peer_(std::move(peer)),
      handshake_(std::move(handshake)),
      option_(std::move(option)),
      timeout_(std::min<std::chrono::milliseconds>(timeout, kHandshakeLimit)) {}

void HandshakeSocket::Send(std::span<const std::byte> bytes) {
  while (!bytes.empty()) {
    const ssize_t sent = ::send(fd_, bytes.data(), bytes.size(), MSG_NOSIGNAL);
    if (sent >= 0) {
      bytes = bytes.subspan(static_cast<size_t>(sent));
    } else {
      WaitAfterErrno(POLLOUT);
    }
  }
}

size_t HandshakeSocket::Receive(std::span<std::byte> room) {
  for (;;) {
    const ssize_t received = ::recv(fd_, room.data(), room.size(), 0);
    if (received > 0) return static_cast<size_t>(received);
    if (received == 0) {
      Throw(ErrorCode::kUnavailable, peer_, " has closed the connection during ", handshake_,
            "; see its log (a graphd without ", option_, " does not know it)");
    }
    WaitAfterErrno(POLLIN);
  }
}

void HandshakeSocket::WaitAfterErrno(short events) {
  if (errno == EINTR) return;
  if (errno != EAGAIN && errno != EWOULDBLOCK) {
    Throw(ErrorCode::kUnavailable, handshake_, " with ", peer_, " failed: ", std::strerror(errno));
  }
  pollfd wait{fd_, events, 0};
  while (::poll(&wait, 1, static_cast<int>(kInterruptPause.count())) <= 0) {
    Interruptions::Check();
    if (Clock::now() - start_ > timeout_) {
      Throw(ErrorCode::kDeadline, peer_, " did not answer ", handshake_, " within ",
            timeout_.count(), " ms; is it a graphd with ", option_, ", and is it overloaded?");
    }
  }
}

}  // namespace graphd
