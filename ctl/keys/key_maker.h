// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <ctime>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "tls/issue.h"
#include "tls/key_directory.h"
#include "tls/revoked_list.h"

namespace graphd::ctl {

// The name of the client certificate that is in the same directory as the server's own keys. The
// jobs that the owner of that directory launches present it to daemons, which allow it everything.
inline constexpr const char* kOwnerName = "owner";

// Makes, renews and revokes the keys of one server name, in the KeyDirectory that has the private
// key of the server's certificate authority. Create, Rotate and Revoke lock the directory, and thus
// wait for each other.
class KeyMaker {
 public:
  KeyMaker(KeyDirectory directory, std::string server_name)
      : directory_(std::move(directory)), server_name_(std::move(server_name)) {}

  // A certificate of the directory, or one that only the list of revoked certificates names. In
  // the latter case `folder`, `kind` and `not_after` are not set.
  struct Entry {
    std::string name, serial;
    std::optional<CertificateKind> kind{};
    std::time_t not_after = 0;
    bool is_revoked = false;
    std::string folder{};  // "", or "clients/NAME/"
  };

  // Makes the authority, the server's key and the owner's key, unless they exist, and a key for
  // each of `clients`, in clients/NAME. Returns the certificates that were made. Throws
  // Error(kExists) if there is nothing to make or if a client already exists, and Error(kInvalid)
  // for a name that a client can't have.
  std::vector<Entry> Create(const std::vector<std::string>& clients, int days);
  // Makes a shared secret. Throws Error(kExists) if the directory has one.
  void CreateSecret() const;
  bool HasSecret() const;
  // Returns the certificates in the directory, and the revoked ones that are no longer there.
  // Throws Error(kNotFound) if there are no certificates and no shared secret.
  std::vector<Entry> List() const;
  // Makes new keys for these names, or for all names if `names` is empty. Then calls `send`, which
  // sends the keys to other machines, and revokes the old certificates after that. Returns the new
  // certificates. Throws Error(kNotFound) for a name without a certificate. If `send` throws, the
  // old certificates stay valid, until a later rotation of the same names revokes these, too.
  std::vector<Entry> Rotate(const std::vector<std::string>& names, int days,
                            const std::function<void()>& send);
  // Revokes the certificates with this name or serial number, also those that a failed rotation has
  // replaced, and returns them. Throws Error(kNotFound) if there is none.
  std::vector<Entry> Revoke(const std::string& name_or_serial);

  const KeyDirectory& directory() const noexcept { return directory_; }

 private:
  KeyPair ReadAuthority() const;
  RevokedList ReadList(const std::string& file) const;
  void AddRevoked(const RevokedList& added) const;
  Entry Issue(const KeyPair& authority, const std::string& folder, CertificateKind kind,
              const std::string& name, int days) const;

  const KeyDirectory directory_;
  const std::string server_name_;
};

}  // namespace graphd::ctl
