// SPDX-License-Identifier: Apache-2.0
#include "daemon/tensors/push_client.h"

#include <openssl/evp.h>

#include <cstring>
#include <string>

#include "base/strings.h"

namespace graphd {
namespace {

// Returns the first 64 bits of a SHA-256 hash.
uint64_t HashOf(const std::string& bytes) {
  unsigned char digest[EVP_MAX_MD_SIZE];
  if (EVP_Digest(bytes.data(), bytes.size(), digest, nullptr, EVP_sha256(), nullptr) != 1) {
    Throw(ErrorCode::kInternal, "this machine's OpenSSL can't compute SHA-256");
  }
  uint64_t hash = 0;
  std::memcpy(&hash, digest, sizeof hash);
  return hash;
}

// Hashes the job's id after numbers of fixed size, so that two different inputs are never the same
// bytes.
store::ClientId IdOf(uint8_t kind, const std::string& job, uint32_t table,
                     const store::ClientId& client) {
  std::string text;
  const auto add = [&](const auto& number) {
    text.append(reinterpret_cast<const char*>(&number), sizeof number);
  };
  add(kind);
  add(table);
  add(client.high);
  add(client.low);
  return {HashOf(job), HashOf(text + job)};
}

}  // namespace

store::ClientId ClientOfPushes(const std::string& job, uint32_t table,
                               const store::ClientId& client) {
  return IdOf(0, job, table, client);
}

store::ClientId ClientOfSteps(const std::string& job, uint32_t table) {
  return IdOf(1, job, table, {});
}

}  // namespace graphd
