// SPDX-License-Identifier: Apache-2.0
#include "daemon/handshakes/secret_server.h"

#include <utility>

#include "daemon/handshakes/abort_plaintext.h"
#include "tls/secret_handshake.h"

namespace graphd {

kj::Promise<SecretServer::Accepted> SecretServer::Accept(kj::Own<kj::AsyncIoStream> socket,
                                                         Peer peer, kj::Timer& timer) {
  const std::string who = "the client at " + peer.text;
  return AcceptWithSecret(kj::mv(socket), secret_.Current(), secret_.server_name(), who, timer,
                          [&timer](kj::AsyncIoStream& stream, const Error& error) {
                            return AbortPlaintext(stream, error, timer);
                          })
      .then([peer = std::move(peer)](kj::Own<kj::AsyncIoStream> stream) mutable {
        peer.has_secret = true;
        peer.uid.reset();
        peer.gids.clear();
        peer.text += " (shared secret)";
        return Accepted{kj::mv(stream), std::move(peer)};
      });
}

}  // namespace graphd
