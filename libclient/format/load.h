// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "format/config/load_options.h"
#include "format/config/part_config.h"
#include "graph/partition.h"

// Functions that load a partition from its files in any format. Thread-safe.

namespace graphd {

// Returns how many bytes the segments take that LoadPartition will create. Reads only headers and
// file sizes. A daemon compares the result with the available memory before it loads the partition.
uint64_t EstimatePartitionBytes(const PartConfig& config, PartId part);

// Returns the descriptions of a partition's feature arrays, "node/<id of the type>/<name>" and
// "edge/<id of the type>/<name>", from the headers of files alone. Throws as EstimatePartitionBytes
// does.
std::vector<ArraySpec> FeatureArrays(const PartConfig& config, PartId part);

// Returns the paths of all files that LoadPartConfig and LoadPartition read for a partition, the
// part config first. Throws as EstimatePartitionBytes does.
std::vector<std::string> PartitionFiles(const PartConfig& config, PartId part);

// Loads a partition into sealed segments and validates it (Partition::Validate). Throws
// Error(kCorrupt), which names file, offset and expectation, if files are truncated or damaged.
// Allocations are limited by the sizes of the files, whatever their headers claim.
std::shared_ptr<const Partition> LoadPartition(const PartConfig& config, PartId part,
                                               const LoadOptions& options = {});

}  // namespace graphd
