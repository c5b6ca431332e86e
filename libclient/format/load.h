// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <cstdint>
#include <memory>

#include "format/config/load_options.h"
#include "format/config/part_config.h"
#include "graph/partition.h"

// Loading a partition from its files, whichever format they have.

namespace graphd {

// Bytes of the segments that LoadPartition will make, read from headers and file sizes alone. What
// a daemon compares with the memory there is before it loads.
uint64_t EstimatePartitionBytes(const PartConfig& config, PartId part);

// Loads a partition into sealed segments and validates it (Partition::Validate). Truncated,
// corrupted or lying files throw Error(kCorrupt) naming file, offset and expectation; nothing is
// allocated because a file claims it, only what its size allows.
std::shared_ptr<const Partition> LoadPartition(const PartConfig& config, PartId part,
                                               const LoadOptions& options = {});

}  // namespace graphd
