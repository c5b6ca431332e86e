// SPDX-License-Identifier: Apache-2.0
#include "daemon/tensors/push_client.h"

#include <openssl/evp.h>

#include <cstring>
#include <string>
#include <utility>

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

}  // namespace

PushClients::PushClients(std::string job) : job_(std::move(job)), high_(HashOf(job_)) {}

// Hashes the job's id after numbers of fixed size, so that two different inputs are never the same
// bytes.
store::ClientId PushClients::IdOf(uint8_t kind, uint32_t table,
                                  const store::ClientId& client) const {
  std::string text;
  const auto add = [&](const auto& number) {
    text.append(reinterpret_cast<const char*>(&number), sizeof number);
  };
  add(kind);
  add(table);
  add(client.high);
  add(client.low);
  return {high_, HashOf(text + job_)};
}

store::ClientId PushClients::OfPushes(uint32_t table, const store::ClientId& client) const {
  return IdOf(0, table, client);
}

store::ClientId PushClients::OfSteps(uint32_t table) const { return IdOf(1, table, {}); }

}  // namespace graphd
