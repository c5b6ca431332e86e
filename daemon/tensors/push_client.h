// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <cstdint>
#include <string>

#include "store/rows/push.h"

namespace graphd {

// The ids under which the store remembers which pushes of a job it has applied. They are SHA-256
// hashes of the job, the table and the client, so that no job can use an id of another job and make
// the store believe that the other job's pushes were applied. The first half of an id is a hash of
// the job alone, by which the store knows which clients are of the same job.
class PushClients {
 public:
  explicit PushClients(std::string job);
  // Returns the id of a client's pushes; `client` is the number that the client chose.
  store::ClientId OfPushes(uint32_t table, const store::ClientId& client) const;
  // Returns the id under which the job's synchronous steps are pushed. Its sequence numbers are the
  // numbers of the steps.
  store::ClientId OfSteps(uint32_t table) const;

 private:
  store::ClientId IdOf(uint8_t kind, uint32_t table, const store::ClientId& client) const;

  const std::string job_;
  const uint64_t high_;  // ClientId::high of all ids
};

}  // namespace graphd
