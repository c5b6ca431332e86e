// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <kj/async-io.h>
#include <kj/function.h>
#include <kj/timer.h>

#include <memory>
#include <string>

#include "daemon/access/living_certificates.h"
#include "daemon/access/peer.h"
#include "tls/tls_keys.h"

namespace graphd {

// The daemon's side of TLS: makes the handshakes of TCP connections and ends connections whose
// certificate is revoked. Owned by the main thread; thread-safe.
class TlsServer {
 public:
  // Reads the keys; throws as TlsKeys does.
  TlsServer(const std::string& keys, const std::string& server_name);

  struct Accepted {
    kj::Own<kj::AsyncIoStream> stream;
    Peer peer;
    std::unique_ptr<LivingCertificates::Entry> entry;  // to be destroyed before the stream
  };
  // Makes the handshake on a socket with the descriptor `number`, and waits for `turn()` before
  // each of its steps. Afterwards, the certificate alone identifies the peer. The promise fails
  // with the reason, after the client was told.
  kj::Promise<Accepted> Accept(kj::Own<kj::AsyncIoStream> socket, int number, Peer peer,
                               kj::Timer& timer, kj::Function<kj::Promise<void>()> turn);

  // Reads changed files, and closes connections whose certificate is revoked now.
  void CheckFiles();
  // The period at which CheckFiles is called. It is short enough to close the connections of a
  // revoked certificate within a second.
  static constexpr uint64_t kCheckMs = 250;

  const KeyDirectory& directory() const noexcept { return keys_.directory(); }

 private:
  TlsKeys keys_;
  LivingCertificates living_;
};

}  // namespace graphd
