// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <kj/async-io.h>
#include <kj/function.h>
#include <kj/timer.h>

#include <chrono>
#include <memory>
#include <string>

#include "graphd/error.h"
#include "tls/shared_secret.h"

// The mutual proof of a shared secret at the start of a TCP connection, before any other byte:
//
//   client: kSecretMagic, its nonce
//   server: kSecretMagic, its nonce, its proof
//   client: its proof
//   server: kSecretWelcome or kSecretRefused
//
// The proofs of the two sides differ, and cover both nonces, so that none of them can be used again
// or sent back. A client gives its proof only to a server that has proved to know the secret.
// Neither side stores more than these few bytes.

namespace graphd {

inline constexpr std::array<char, 16> kSecretMagic = {'g', 'r', 'a', 'p', 'h', 'd', '-', 's',
                                                      'e', 'c', 'r', 'e', 't', '-', '1', '\n'};
inline constexpr std::byte kSecretWelcome{0x47}, kSecretRefused{0x4e};

// Makes a client's handshake on a connected non-blocking socket, within the timeout and
// kHandshakeLimit. `peer` is the name of the server in messages. Throws Error(kDenied) if the two
// sides have different secrets or the server asks for none; otherwise throws as HandshakeSocket
// does.
void ConnectWithSecret(int fd, const SharedSecret& secret, const std::string& server_name,
                       const std::string& peer, std::chrono::milliseconds timeout);

// Makes a server's handshake. The promise fails, with the reason, if the client does not know the
// secret, or does not complete the handshake within kHandshakeLimit. `refuse` is called for a
// client that does not begin the handshake, to tell it why it is refused.
kj::Promise<kj::Own<kj::AsyncIoStream>> AcceptWithSecret(
    kj::Own<kj::AsyncIoStream> socket, std::shared_ptr<const SharedSecret> secret,
    const std::string& server_name, const std::string& peer, kj::Timer& timer,
    kj::Function<kj::Promise<void>(kj::AsyncIoStream&, const Error&)> refuse);

}  // namespace graphd
