// SPDX-License-Identifier: Apache-2.0
#pragma once
#include "client/routing/access_scratch.h"
#include "client/routing/hop_call.h"

namespace graphd {

// Merges the partitions' answers to one rule of a hop, in the order of the call's seeds. If only
// one partition has answered, moves its answer instead of copying it.
Neighbors AssembleNeighbors(const Schema& schema, const HopCall& call, size_t rule,
                            AccessScratch& scratch);

}  // namespace graphd
