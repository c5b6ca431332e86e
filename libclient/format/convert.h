// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <string>

#include "format/config/part_config.h"
#include "format/io/step_progress.h"
#include "format/partitioner.h"

namespace graphd {

// Writes the partitions of a part config in the native format, one after the other, with the same
// owners, ids, features, names of nodes and graph name: trainers see no difference. Edges keep
// their ids through edge_rows where a partition does not have them in CSC order. Throws
// Error(kInvalid) for an owner per id (DGL's reshuffle=False), which the native format does not
// have, and if `output` is the input's directory; Error(kExists) as PartitionGraph does; and what
// LoadPartition throws.
PartitionSummary ConvertPartitions(const PartConfig& config, const std::string& output, bool force,
                                   const StepProgress& progress = {});

}  // namespace graphd
