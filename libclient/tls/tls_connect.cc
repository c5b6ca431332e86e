// SPDX-License-Identifier: Apache-2.0
#include "tls/tls_connect.h"

#include <sys/socket.h>

#include <utility>

#include "base/strings.h"
#include "tls/handshake_socket.h"

namespace graphd {
std::unique_ptr<TlsSession> ConnectTls(int fd, std::shared_ptr<const TlsCredentials> credentials,
                                       const std::string& peer, std::chrono::milliseconds timeout) {
  auto session = std::make_unique<TlsSession>(std::move(credentials), peer);
  HandshakeSocket socket(fd, peer, "the TLS handshake", "--keys", timeout);
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
      // The alert tells the server the reason. If it can't be sent, our error stays the same.
      const auto alert = session->Output();
      if (!alert.empty()) ::send(fd, alert.data(), alert.size(), MSG_NOSIGNAL | MSG_DONTWAIT);
    }
    throw;
  }
}

}  // namespace graphd
