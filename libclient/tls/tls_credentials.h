// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <memory>
#include <string>

#include "tls/key_directory.h"
#include "tls/openssl.h"
#include "tls/revoked_list.h"

namespace graphd {

enum class TlsSide { kServer, kClient };

// The settings and keys that one side uses for handshakes, read from its directory. Constant and
// thread-safe.
struct TlsCredentials {
  TlsSide side;
  std::string server_name;  // both sides expect the server's certificate to have this name
  std::string directory;    // the directory of keys, for messages
  std::string own_name;     // the name of our certificate
  std::shared_ptr<SSL_CTX> context;
  std::shared_ptr<const RevokedList> revoked;
};

// Makes the settings of handshakes from ca.pem and, depending on the side, server.pem and
// server.key or client.pem and client.key. They allow TLS 1.3 only, and demand certificates of both
// sides. They allow no session tickets, by which a client could connect again after its certificate
// was revoked. Returns credentials without `revoked`. Throws as KeyDirectory::Read does, and
// Error(kInvalid) for files that do not fit each other.
TlsCredentials ReadTlsCredentials(const KeyDirectory& keys, const std::string& server_name,
                                  TlsSide side);

}  // namespace graphd
