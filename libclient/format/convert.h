// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <string>

#include "format/config/part_config.h"
#include "format/io/step_progress.h"
#include "format/partitioner.h"

namespace graphd {

// Writes the partitions of a part config in the native format, one after the other, with the same
// owners, ids, features, node names, texts of labels and graph name, so trainers see no difference.
// If a partition's edges are not in CSC order, they keep their ids through edge_rows. Throws
// Error(kInvalid) if the part config has an owner for each id (DGL's reshuffle=False), which the
// native format does not support, or if `output` is the input's directory; Error(kExists) as
// PartitionGraph does; and what LoadPartition throws.
PartitionSummary ConvertPartitions(const PartConfig& config, const std::string& output, bool force,
                                   const StepProgress& progress = {});

}  // namespace graphd
