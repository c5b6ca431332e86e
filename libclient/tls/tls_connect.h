// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <chrono>
#include <memory>
#include <string>

#include "tls/tls_session.h"

namespace graphd {

// The byte by which a server says that it has accepted the client's certificate. It is needed
// because in TLS 1.3, the client's handshake is complete before the server has checked the client's
// certificate.
inline constexpr std::byte kTlsWelcome{0x47};

// Makes a client's handshake on a connected non-blocking socket, within the timeout and
// kHandshakeLimit. `peer` is the name of the server in messages. Throws as TlsSession::Handshake
// does, Error(kDeadline) if the server is silent, and Error(kUnavailable) if it closes the
// connection. Threads can be interrupted while they wait.
std::unique_ptr<TlsSession> ConnectTls(int fd, std::shared_ptr<const TlsCredentials> credentials,
                                       const std::string& peer, std::chrono::milliseconds timeout);

}  // namespace graphd
