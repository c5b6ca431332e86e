// SPDX-License-Identifier: Apache-2.0
#include "daemon/tensors/push_client.h"

#include <openssl/evp.h>

#include <cstring>
#include <vector>

#include "base/strings.h"

namespace graphd {
namespace {

// Hashes the job's id after numbers of fixed size, so that two different inputs are never the same
// bytes.
store::ClientId HashOf(uint8_t kind, const std::string& job, uint32_t table,
                       const store::ClientId& client) {
  std::vector<unsigned char> text;
  const auto add = [&](const void* data, size_t size) {
    const auto* bytes = static_cast<const unsigned char*>(data);
    text.insert(text.end(), bytes, bytes + size);
  };
  add(&kind, sizeof kind);
  add(&table, sizeof table);
  add(&client.high, sizeof client.high);
  add(&client.low, sizeof client.low);
  add(job.data(), job.size());
  unsigned char digest[EVP_MAX_MD_SIZE];
  if (EVP_Digest(text.data(), text.size(), digest, nullptr, EVP_sha256(), nullptr) != 1) {
    Throw(ErrorCode::kInternal, "this machine's OpenSSL can't compute SHA-256");
  }
  store::ClientId id;
  std::memcpy(&id.high, digest, sizeof id.high);
  std::memcpy(&id.low, digest + sizeof id.high, sizeof id.low);
  return id;
}

}  // namespace

store::ClientId ClientOfPushes(const std::string& job, uint32_t table,
                               const store::ClientId& client) {
  return HashOf(0, job, table, client);
}

store::ClientId ClientOfSteps(const std::string& job, uint32_t table) {
  return HashOf(1, job, table, {});
}

}  // namespace graphd
