// SPDX-License-Identifier: Apache-2.0
#include "daemon/handshakes/tls_server.h"

#include <kj/debug.h>

#include <utility>

#include "base/strings.h"
#include "daemon/handshakes/abort_plaintext.h"
#include "tls/tls_stream.h"

namespace graphd {
TlsServer::TlsServer(const std::string& keys, const std::string& server_name)
    : keys_(KeyDirectory(keys, server_name), server_name, TlsSide::kServer) {}

kj::Promise<TlsServer::Accepted> TlsServer::Accept(kj::Own<kj::AsyncIoStream> socket, int number,
                                                   Peer peer, kj::Timer& timer,
                                                   kj::Function<kj::Promise<void>()> turn) {
  // The files are checked before each handshake: a client that has read new files needs a server
  // that has read them, too.
  CheckFiles();
  const std::string who = "the client at " + peer.text;
  TlsAccept how{[&timer](kj::AsyncIoStream& stream, const Error& error) {
                  return AbortPlaintext(stream, error, timer);
                },
                kj::mv(turn)};
  return AcceptTls(kj::mv(socket), keys_.Current(), who, timer, kj::mv(how))
      .then([this, number, peer = std::move(peer)](kj::Own<TlsStream> stream) mutable {
        const std::string name = stream->session().peer_name();
        const std::string serial = stream->session().peer_serial();
        auto entry = living_.Add(serial, name, number);
        // The list of revoked certificates may have changed during the handshake, before the entry
        // was added.
        KJ_REQUIRE(!keys_.Current()->revoked->Has(serial), "the certificate is revoked");
        peer.certificate = name;
        peer.uid.reset();
        peer.gids.clear();
        peer.text += StrCat(" (certificate ", name, ")");
        return Accepted{kj::mv(stream), std::move(peer), std::move(entry)};
      });
}

void TlsServer::CheckFiles() {
  if (keys_.Refresh()) living_.CloseRevoked(*keys_.Current()->revoked);
}

}  // namespace graphd
