// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <cstdint>
#include <functional>
#include <memory>

#include "format/part_config.h"
#include "graph/partition.h"

// Loading a partition from its files, whichever format they have.

namespace graphd {

struct LoadOptions {
  // Called now and then with bytes done and bytes in all; may be empty. Called on the loading
  // thread.
  std::function<void(uint64_t done, uint64_t total)> progress;
  // Compare the checksums that native files carry (a pass over memory at more than 10 GB/s).
  bool verify_checksums = true;
};

// Bytes of the segments that LoadPartition will make, read from headers and file sizes alone. What
// a daemon compares with the memory there is before it loads.
uint64_t EstimatePartitionBytes(const PartConfig& config, PartId part);

// Loads a partition into sealed segments and validates it (Partition::Validate). Truncated,
// corrupted or lying files throw Error(kCorrupt) naming file, offset and expectation; nothing is
// allocated because a file claims it, only what its size allows.
std::shared_ptr<const Partition> LoadPartition(const PartConfig& config, PartId part,
                                               const LoadOptions& options = {});

}  // namespace graphd
