// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <array>
#include <cstddef>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "base/threads/mutex.h"

namespace graphd {

// The two sides of a handshake with a shared secret.
enum class SecretSide { kClient, kServer };

// A nonce, which has random bytes that one side of a handshake chooses, and the proof that one side
// knows the secret.
using SecretNonce = std::array<std::byte, 32>;
using SecretProof = std::array<std::byte, 32>;

// A secret that the daemons of one server name share with their clients.
class SharedSecret {
 public:
  // Parses a text of at least 64 hexadecimal digits, which may end with white space. Throws
  // Error(kInvalid), which names `where` and the remedy but never the text.
  static SharedSecret Parse(const std::string& text, const std::string& where);
  // Returns the text of a new secret: 32 random bytes.
  static std::string NewText();

  SharedSecret(SharedSecret&&) = default;
  ~SharedSecret();

  // Returns the proof of a side: the HMAC-SHA256, with the secret as its key, of a label for this
  // side, the server's name and both nonces.
  SecretProof Prove(SecretSide side, const std::string& server_name, const SecretNonce& of_client,
                    const SecretNonce& of_server) const;

 private:
  explicit SharedSecret(std::vector<unsigned char> bytes) : bytes_(std::move(bytes)) {}
  std::vector<unsigned char> bytes_;
};

// Returns whether two proofs are equal, in a time that does not depend on their values.
bool EqualProofs(const SecretProof& a, std::span<const std::byte, 32> b);
// Returns 32 random bytes. Throws Error(kInternal) if OpenSSL can't make them.
SecretNonce NewNonce();

// A file with a shared secret, which is read again when it changes. Thread-safe.
class SecretFile {
 public:
  // The file's name in a directory of keys (KeyDirectory).
  static constexpr const char* kName = "secret.key";

  // `path` is a file, or "default" for kName in the default directory of the server's keys. Throws,
  // each with the remedy, Error(kNotFound), Error(kDenied) if others may read the file or change it
  // or its directory, and Error(kInvalid).
  SecretFile(const std::string& path, std::string server_name);

  const std::string& path() const noexcept { return path_; }
  const std::string& server_name() const noexcept { return server_name_; }
  std::shared_ptr<const SharedSecret> Current() const;
  // Reads the file if it has changed. If it can't be used, this is logged once, and the old secret
  // stays in use.
  void Refresh();

 private:
  SharedSecret Read() const;
  std::vector<int64_t> Version() const;

  const std::string path_, server_name_;
  mutable Mutex mutex_;
  std::shared_ptr<const SharedSecret> current_ GRAPHD_GUARDED_BY(mutex_);
  std::vector<int64_t> version_ GRAPHD_GUARDED_BY(mutex_);
};

}  // namespace graphd
