// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <cstdint>
#include <span>

#include "graphd/ids.h"

namespace graphd {

// Sets owners[i] to the partition that AssignRandomly gives to the node ids[i] of type `ntype`.
// Requires: as many owners as ids; num_parts is at least 1.
void RandomOwners(std::span<const int64_t> ids, NodeTypeId ntype, uint64_t seed, int32_t num_parts,
                  std::span<int32_t> owners);

}  // namespace graphd
