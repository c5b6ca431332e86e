// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <cstdint>
#include <string>

#include "store/rows/push.h"

namespace graphd {

// The ids under which the store remembers which pushes it has applied. They depend on the job and
// the table by way of SHA-256, so that no job can name the id of another one, and make the store
// believe that the other's pushes were applied.

// Returns the id of a client's pushes; `client` is the number that the client chose.
store::ClientId ClientOfPushes(const std::string& job, uint32_t table,
                               const store::ClientId& client);
// Returns the id that a job's steps are pushed under. Its sequence numbers are the steps.
store::ClientId ClientOfSteps(const std::string& job, uint32_t table);

}  // namespace graphd
