// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <kj/async-io.h>
#include <kj/timer.h>

#include <string>

#include "daemon/access/peer.h"
#include "tls/shared_secret.h"

namespace graphd {

// The daemon's side of the shared secret: makes the handshakes of TCP connections. Owned by the
// main thread; thread-safe.
class SecretServer {
 public:
  // Reads the file; throws as SecretFile does.
  SecretServer(const std::string& file, const std::string& server_name)
      : secret_(file, server_name) {}

  struct Accepted {
    kj::Own<kj::AsyncIoStream> stream;
    Peer peer;
  };
  // Makes the handshake on a socket. Afterwards, the secret alone identifies the peer. The promise
  // fails with the reason, after the client was told.
  kj::Promise<Accepted> Accept(kj::Own<kj::AsyncIoStream> socket, Peer peer, kj::Timer& timer);

  // Reads the file again if it has changed. Connections made with the old secret stay.
  void CheckFile() { secret_.Refresh(); }

 private:
  SecretFile secret_;
};

}  // namespace graphd
