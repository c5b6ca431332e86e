// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <cstdint>
#include <string>
#include <vector>

#include "tls/certificate.h"

namespace graphd {

// A directory with the keys of one server name:
//   ca.pem                  the authority's certificate
//   ca.key                  its private key, only where keys are made
//   server.pem server.key   the certificate and private key of the daemons
//   client.pem client.key   those of the clients that use this directory
//   revoked                 the revoked certificates (RevokedList); may be missing
//   clients/NAME/           the directory to be given to the client NAME
//   secret.key              a shared secret, in place of certificates (SecretFile)
// Private keys are for their owner alone.
class KeyDirectory {
 public:
  // `path`: a directory, or "default" for DefaultPath(server_name).
  KeyDirectory(const std::string& path, const std::string& server_name);

  // Returns /etc/graphd/keys/<server_name> for root, and $XDG_CONFIG_HOME/graphd/keys/<server_name>
  // for others, where XDG_CONFIG_HOME is ~/.config by default. Throws Error(kInvalid) if there is
  // no home directory.
  static std::string DefaultPath(const std::string& server_name);

  const std::string& path() const noexcept { return path_; }
  std::string PathOf(const std::string& file) const { return path_ + "/" + file; }
  bool Has(const std::string& file) const;

  // Returns the text of a file. Throws Error(kNotFound) with the remedy if it is missing, and
  // Error(kDenied) if the file or its directory belongs to a user other than this process's or
  // root, or if others may change it or, for a private key (".key"), read it. Root may also read
  // files of the directory's owner.
  std::string Read(const std::string& file) const;
  // Writes a file that only its owner can read, and makes the directory. A file that root writes is
  // given to the directory's owner, who may be the user of a daemon. Readers see either the old or
  // the new file.
  void Write(const std::string& file, const std::string& text) const;
  // Returns the certificate in NAME.pem and its private key, which is one of those in NAME.key.
  // Throws what Read throws, and Error(kInvalid) for files that do not fit each other.
  KeyPair ReadPair(const std::string& name) const;
  // Replaces NAME.pem and NAME.key. At every moment, and even if the process is killed, the files
  // have a certificate and its key: until the certificate is replaced, NAME.key has both the new
  // key and the old one. Files that ReadPair refuses are replaced without this care.
  void WritePair(const std::string& name, const KeyPair& pair) const;

  // Returns numbers that change when one of the files is written or replaced.
  std::vector<int64_t> Version(const std::vector<std::string>& files) const;

 private:
  std::string path_, server_name_;
};

// Returns the text of a file with the checks of KeyDirectory::Read. `remedy` ends the error for a
// missing file. A private file that belongs to root may have the mode 0640 if this process does not
// run as root, and a directory that belongs to root may have the mode 1777: this is how Kubernetes
// mounts a Secret.
std::string ReadGuarded(const std::string& path, bool is_private, const std::string& remedy);
// Returns numbers that change when the file is written or replaced.
std::vector<int64_t> VersionOf(const std::string& path);

}  // namespace graphd
