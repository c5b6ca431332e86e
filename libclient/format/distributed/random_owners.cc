// SPDX-License-Identifier: Apache-2.0
#include "format/distributed/random_owners.h"

#include "base/index.h"
#include "format/partition/assign_nodes.h"

namespace graphd {

void RandomOwners(std::span<const int64_t> ids, NodeTypeId ntype, uint64_t seed, int32_t num_parts,
                  std::span<int32_t> owners) {
  const RandomAssignment assignment(seed, Index(static_cast<int32_t>(ntype)), num_parts);
  for (size_t i = 0; i < ids.size(); i++) {
    owners[i] = static_cast<int32_t>(assignment.OwnerOf(static_cast<uint64_t>(ids[i])));
  }
}

}  // namespace graphd
