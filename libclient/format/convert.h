// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <string>

#include "format/config/part_config.h"
#include "format/io/step_progress.h"
#include "format/partitioner.h"

namespace graphd {

// Writes the partitions of a part config in the native format, one after the other. Owners, ids,
// features, node names, texts of labels and the graph's name remain the same, so trainers see no
// difference. If a partition's edge ids do not follow the order of the CSC arrays, the array
// edge_rows keeps these ids. Throws Error(kInvalid) if the part config lists an owner for each id
// (DGL's reshuffle=False), which the native format does not support, or if `output` is the input's
// directory. Throws Error(kExists) as PartitionGraph does, and what LoadPartition throws.
PartitionSummary ConvertPartitions(const PartConfig& config, const std::string& output, bool force,
                                   const StepProgress& progress = {});

}  // namespace graphd
