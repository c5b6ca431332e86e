// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <string>

#include "tests/unit/format/scratch_directory.h"
#include "tls/issue.h"
#include "tls/tls_keys.h"

namespace graphd::testing {

// Directories of keys for a server and its clients, made as `graphctl keys` makes them.
class TestKeys {
 public:
  explicit TestKeys(const std::string& server_name)
      : server_name_(server_name), authority_(MakeAuthority(server_name)) {
    AddServer("server");
    AddClient("trainer");
  }

  // Makes the directory of a daemon, with a certificate of the name and the kind given.
  KeyDirectory AddServer(const std::string& folder, const std::string& name = "",
                         CertificateKind kind = CertificateKind::kServer,
                         int days = kCertificateDays) {
    const auto keys = Directory(folder);
    Put(keys, "server", Issue(authority_, kind, name.empty() ? server_name_ : name, days));
    return keys;
  }
  // Makes the directory of a client.
  KeyDirectory AddClient(const std::string& name, CertificateKind kind = CertificateKind::kClient,
                         int days = kCertificateDays) {
    const auto keys = Directory(name);
    Put(keys, "client", Issue(authority_, kind, name, days));
    return keys;
  }
  // Writes the list of a directory with the client's present certificate added.
  void Revoke(const std::string& folder, const std::string& client) {
    const Certificate certificate =
        Certificate::FromPem(Directory(client).Read("client.pem"), "client.pem");
    const auto keys = Directory(folder);
    RevokedList list;
    if (keys.Has("revoked")) list = RevokedList::Parse(keys.Read("revoked"), "revoked");
    list.Add(certificate.serial(), certificate.name());
    keys.Write("revoked", list.ToText());
  }
  KeyDirectory Directory(const std::string& folder) const {
    return KeyDirectory(scratch_ / folder, server_name_);
  }
  std::string Path(const std::string& folder) const { return scratch_ / folder; }

  std::shared_ptr<const TlsCredentials> Server(const std::string& folder = "server") const {
    return TlsKeys(Directory(folder), server_name_, TlsSide::kServer).Current();
  }
  std::shared_ptr<const TlsCredentials> Client(const std::string& name = "trainer") const {
    return TlsKeys(Directory(name), server_name_, TlsSide::kClient).Current();
  }

 private:
  void Put(const KeyDirectory& keys, const std::string& name, const KeyPair& pair) const {
    keys.Write("ca.pem", authority_.certificate.ToPem());
    keys.WritePair(name, pair);
  }

  const std::string server_name_;
  const KeyPair authority_;
  ScratchDirectory scratch_;
};

}  // namespace graphd::testing
