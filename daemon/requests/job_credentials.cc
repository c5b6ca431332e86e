// SPDX-License-Identifier: Apache-2.0
#include "daemon/requests/job_credentials.h"

#include <openssl/evp.h>

#include "base/secret.h"
#include "base/strings.h"

namespace graphd {

JobCredentials JobCredentials::Of(const std::string& job_id, const std::string& secret,
                                  const Peer& peer) {
  JobCredentials credentials{"", peer.uid, peer.certificate, peer.has_secret};
  if (secret.empty()) return credentials;
  // The length of the job id shows where the id ends and the secret begins.
  const std::string text = StrCat("graphd job 1 ", job_id.size(), ":", job_id, secret);
  unsigned char digest[EVP_MAX_MD_SIZE];
  unsigned length = 0;
  if (EVP_Digest(text.data(), text.size(), digest, &length, EVP_sha256(), nullptr) != 1) {
    Throw(ErrorCode::kInternal, "this machine's OpenSSL can't compute SHA-256");
  }
  credentials.secret_hash.assign(reinterpret_cast<const char*>(digest), length);
  return credentials;
}

void JobCredentials::Require(const JobCredentials& newcomer, const std::string& job_id) const {
  const bool has_secret_of_job = EqualSecrets(secret_hash, newcomer.secret_hash);
  if (has_secret_of_job && (!secret_hash.empty() || IsSamePeer(newcomer))) return;
  Throw(ErrorCode::kDenied, "job ", job_id, " has another secret or another user; processes that ",
        "are not started by graphctl launch need the same GRAPHD_JOB_SECRET");
}

std::string JobCredentials::Owner() const {
  if (!certificate.empty()) return "certificate " + certificate;
  return uid ? StrCat("uid ", *uid) : std::string();
}

}  // namespace graphd
