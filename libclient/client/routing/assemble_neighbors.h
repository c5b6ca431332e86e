// SPDX-License-Identifier: Apache-2.0
#pragma once
#include "client/routing/access_scratch.h"
#include "client/routing/hop_call.h"

namespace graphd {

// Puts the partitions' answers to one rule of a hop together, in the order of the call's seeds.
// Takes the memory of an answer where only one partition has answered.
Neighbors AssembleNeighbors(const Schema& schema, const HopCall& call, size_t rule,
                            AccessScratch& scratch);

}  // namespace graphd
