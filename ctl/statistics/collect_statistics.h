// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <optional>

#include "ctl/statistics/graph_statistics.h"
#include "format/config/part_config.h"
#include "format/io/step_progress.h"

namespace graphd::ctl {

// Returns the statistics of the partitions of a graph that are on this machine, or only of `part`.
// Reads the partitions one after the other, each with all processors. Besides the result, this
// takes the memory of an EdgeCollector (see there) and of FeatureCollector::kSample numbers for
// each feature. A partition in DGL's format is also loaded into memory as a whole. Out-degrees and
// isolated nodes are left out if they need more than half of the available memory.
//
// Throws Error(kNotFound) if no partition is on this machine, and Error(kCorrupt) for files that
// are noticed to be damaged. Checksums are not compared.
GraphStatistics CollectStatistics(const PartConfig& config, std::optional<PartId> part,
                                  const StepProgress& progress);

}  // namespace graphd::ctl
