// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <sys/types.h>

#include <map>
#include <optional>
#include <string>

#include "daemon/access/peer.h"

namespace graphd {

// The proof that a process needs to join a job: the secret of the job or, if the job has no secret,
// the identity of its first member. The secret itself is not kept.
struct JobCredentials {
  std::string secret_hash;   // SHA-256 of the job id and the secret; empty: no secret
  std::optional<uid_t> uid;  // this and the following are compared if there is no secret
  std::string certificate{};
  bool has_secret = false;  // whether the peer knows the server's shared secret

  // Returns the credentials of a job whose first member has this secret.
  static JobCredentials Of(const std::string& job_id, const std::string& secret, const Peer& peer);
  // Throws Error(kDenied), with the remedy, unless a process with the credentials `newcomer` may
  // join the job.
  void Require(const JobCredentials& newcomer, const std::string& job_id) const;
  // Returns the owner of the job, as "uid 1000" or "certificate NAME"; empty if the owner is not
  // known.
  std::string Owner() const;
  // Returns whether the processes of the job can be told apart from others: the job has a secret,
  // or its owner is known, or only clients that know the server's shared secret may connect.
  bool tells_who() const {
    return !secret_hash.empty() || uid || !certificate.empty() || has_secret;
  }
  // Returns whether both credentials have the same identity; the secrets are not compared.
  bool IsSamePeer(const JobCredentials& other) const {
    return uid == other.uid && certificate == other.certificate && has_secret == other.has_secret;
  }
};

using CredentialsOfJobs = std::map<std::string, JobCredentials>;  // by job id

}  // namespace graphd
