// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <cstdint>
#include <string>

#include "store/rows/push.h"

namespace graphd {

// The ids under which the store remembers which pushes it has applied. They are SHA-256 hashes of
// the job, the table and the client, so that no job can use an id of another job and make the store
// believe that the other job's pushes were applied. The first half of an id is a hash of the job
// alone, because the store remembers as many clients of each job as of others.

// Returns the id of a client's pushes; `client` is the number that the client chose.
store::ClientId ClientOfPushes(const std::string& job, uint32_t table,
                               const store::ClientId& client);
// Returns the id under which a job's synchronous steps are pushed. Its sequence numbers are the
// numbers of the steps.
store::ClientId ClientOfSteps(const std::string& job, uint32_t table);

}  // namespace graphd
