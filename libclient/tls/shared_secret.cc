// SPDX-License-Identifier: Apache-2.0
#include "tls/shared_secret.h"

#include <openssl/crypto.h>
#include <openssl/hmac.h>
#include <openssl/rand.h>

#include <bitset>
#include <cstring>

#include "base/log.h"
#include "base/secret.h"
#include "base/strings.h"
#include "tls/key_directory.h"
#include "tls/openssl.h"

namespace graphd {
namespace {

constexpr size_t kLeastDigits = 64, kMostDigits = 1024;
// The least number of different digits. Only one of 10^13 random texts of 64 digits has fewer; a
// text that was typed by hand often has.
constexpr size_t kLeastDifferent = 8;

int DigitOf(char c) {
  if (c >= '0' && c <= '9') return c - '0';
  if (c >= 'a' && c <= 'f') return c - 'a' + 10;
  if (c >= 'A' && c <= 'F') return c - 'A' + 10;
  return -1;
}

// Returns a side's label. Both labels have the same length, so that a proof of one side is never a
// proof of the other.
const char* LabelOf(SecretSide side) {
  return side == SecretSide::kClient ? "graphd secret 1 client" : "graphd secret 1 server";
}

}  // namespace

SharedSecret SharedSecret::Parse(const std::string& text, const std::string& where) {
  const size_t end = text.find_last_not_of(" \t\r\n") + 1;
  std::bitset<16> seen;
  bool good = end >= kLeastDigits && end <= kMostDigits && end % 2 == 0;
  for (size_t i = 0; i < end && good; i++) {
    const int digit = DigitOf(text[i]);
    good = digit >= 0;
    if (good) seen.set(static_cast<size_t>(digit));
  }
  if (!good || seen.count() < kLeastDifferent) {
    Throw(ErrorCode::kInvalid, where, " has no secret of at least ", kLeastDigits,
          " random hexadecimal digits; make one with `graphctl keys create --shared_secret`");
  }
  std::vector<unsigned char> bytes(end / 2);
  for (size_t i = 0; i < bytes.size(); i++) {
    bytes[i] = static_cast<unsigned char>(DigitOf(text[2 * i]) << 4 | DigitOf(text[2 * i + 1]));
  }
  return SharedSecret(std::move(bytes));
}

std::string SharedSecret::NewText() { return NewSecret() + "\n"; }

SharedSecret::~SharedSecret() { OPENSSL_cleanse(bytes_.data(), bytes_.size()); }

SecretProof SharedSecret::Prove(SecretSide side, const std::string& server_name,
                                const SecretNonce& of_client, const SecretNonce& of_server) const {
  InitializeOpenSsl();
  // Each part has a fixed length, except for the name, whose length precedes it. Different inputs
  // thus never have the same bytes.
  std::string text = StrCat(LabelOf(side), server_name.size(), ":", server_name);
  for (const SecretNonce* nonce : {&of_client, &of_server}) {
    text.append(reinterpret_cast<const char*>(nonce->data()), nonce->size());
  }
  SecretProof proof;
  unsigned length = 0;
  RequireDone(HMAC(EVP_sha256(), bytes_.data(), static_cast<int>(bytes_.size()),
                   reinterpret_cast<const unsigned char*>(text.data()), text.size(),
                   reinterpret_cast<unsigned char*>(proof.data()), &length) != nullptr &&
                  length == proof.size(),
              "can't compute an HMAC");
  return proof;
}

bool EqualProofs(const SecretProof& a, std::span<const std::byte, 32> b) {
  return CRYPTO_memcmp(a.data(), b.data(), a.size()) == 0;
}

SecretNonce NewNonce() {
  InitializeOpenSsl();
  SecretNonce nonce;
  RequireDone(RAND_bytes(reinterpret_cast<unsigned char*>(nonce.data()),
                         static_cast<int>(nonce.size())) == 1,
              "can't get random bytes");
  return nonce;
}

SecretFile::SecretFile(const std::string& path, std::string server_name)
    : path_(path == "default" ? KeyDirectory::DefaultPath(server_name) + "/" + kName : path),
      server_name_(std::move(server_name)),
      version_(Version()) {  // first, so that the next Refresh sees a change during Read()
  current_ = std::make_shared<const SharedSecret>(Read());
}

SharedSecret SecretFile::Read() const {
  std::string text = ReadGuarded(
      path_, /*is_private=*/true,
      StrCat("; make a shared secret with `graphctl keys create --shared_secret --server_name ",
             server_name_, "`, or name another file with --secret or GRAPHD_SECRET"));
  SharedSecret secret = SharedSecret::Parse(text, path_);
  OPENSSL_cleanse(text.data(), text.size());
  return secret;
}

std::vector<int64_t> SecretFile::Version() const { return VersionOf(path_); }

std::shared_ptr<const SharedSecret> SecretFile::Current() const {
  const MutexLock lock(mutex_);
  return current_;
}

void SecretFile::Refresh() {
  std::vector<int64_t> version = Version();
  {
    const MutexLock lock(mutex_);
    if (version == version_) return;
    version_ = std::move(version);
  }
  try {
    auto read = std::make_shared<const SharedSecret>(Read());
    LogInfo("read the new secret in ", path_);
    const MutexLock lock(mutex_);
    current_ = std::move(read);
  } catch (const Error& error) {
    LogError(error.what(), " (the old secret stays in use)");
  }
}

}  // namespace graphd
