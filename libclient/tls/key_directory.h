// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <cstdint>
#include <string>
#include <vector>

#include "base/file.h"
#include "tls/certificate.h"

namespace graphd {

// A directory with the keys of one server name:
//   ca.pem                  the authority's certificate
//   ca.key                  its private key, only where keys are made
//   server.pem server.key   the certificate and private key of the daemons
//   client.pem client.key   those of the clients that use this directory
//   revoked                 the revoked certificates (RevokedList); may be missing
//   revoke_next             those that a rotation which has not ended will revoke (RevokedList)
//   lock                    the file that KeyDirectory::Lock locks
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

  // Returns the text of a file. Throws Error(kNotFound) with the remedy if it is missing. Throws
  // Error(kDenied) if the file or its directory belongs to a user other than this process's or
  // root, or if others may change one of them or may read a private key (".key"). If this process
  // runs as root, the file may also belong to the directory's owner.
  std::string Read(const std::string& file) const;
  // Writes a file that only its owner can read, and makes the directory if it is missing. A file
  // that root writes is given to the directory's owner, who may be the user of a daemon. Readers
  // see either the old or the new file.
  void Write(const std::string& file, const std::string& text) const;
  // Waits until no other process changes the directory, and keeps others from changing it until the
  // result is destroyed. Makes the directory if it is missing. Throws Error(kExists) if another
  // process keeps the lock for a minute.
  UniqueFd Lock() const;
  // Returns the certificate in NAME.pem and its private key, which is one of the keys in NAME.key.
  // Throws what Read throws, and Error(kInvalid) if the files do not fit each other.
  KeyPair ReadPair(const std::string& name) const;
  // Replaces NAME.pem and NAME.key. At every moment, and even if the process is killed, the files
  // have a certificate and its key: until the certificate is replaced, NAME.key has both the new
  // key and the old one. This does not hold if the old files are a pair that ReadPair refuses.
  void WritePair(const std::string& name, const KeyPair& pair) const;

  // Returns numbers that change whenever one of the files is written or replaced.
  std::vector<int64_t> Version(const std::vector<std::string>& files) const;

 private:
  std::string path_, server_name_;
};

// Returns the text of a file with the checks of KeyDirectory::Read. `remedy` ends the error for a
// missing file. Two things are allowed because Kubernetes mounts a Secret in this way: a private
// file that belongs to root may have the mode 0640 if this process does not run as root, and a
// directory that belongs to root may have the mode 1777.
std::string ReadGuarded(const std::string& path, bool is_private, const std::string& remedy);
// Returns numbers that change whenever the file is written or replaced.
std::vector<int64_t> VersionOf(const std::string& path);

}  // namespace graphd
