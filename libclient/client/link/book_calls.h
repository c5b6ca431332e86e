// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <kj/async.h>

#include <chrono>
#include <cstdint>
#include <span>
#include <string>

#include "base/file.h"
#include "client/link/daemon_link.h"
#include "wire/received_graph.h"

// Functions that read the owners of the ids of a large partition book that IdMap::FromOwners makes.
// The answer to `attach` does not contain them.

namespace graphd {

// Returns how many calls are needed to read the owners.
size_t OwnersPieces(std::span<const int32_t> owners);
// Reads one piece of the owners. `owners` must live until the promise is done. Fails with
// Error(kCorrupt) if the daemon, `peer`, sends another number of owners.
kj::Promise<void> ReadOwnersPiece(wire::Session::Client& session,
                                  const ReceivedGraph::Missing& missing, size_t piece,
                                  std::span<int32_t> owners, std::string peer);
// Reads all owners over the link, and waits for them for at most `patience`, or longer if the
// partition book is large.
void ReadOwners(DaemonLink& link, const ReceivedGraph::Missing& missing, std::span<int32_t> owners,
                std::chrono::milliseconds patience);
// Copies the owners from memory that the daemon shares. Throws Error(kCorrupt) if the memory is not
// sealed, or has another size.
void CopyOwners(UniqueFd fd, std::span<int32_t> owners);

}  // namespace graphd
