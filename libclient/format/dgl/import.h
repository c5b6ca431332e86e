// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <cstdint>
#include <memory>

#include "format/config/load_options.h"
#include "format/config/part_config.h"

// Partitions as DGL writes them: graph.dgl, node_feat.dgl and edge_feat.dgl. What LoadPartition
// calls for them; the same contract.

namespace graphd {

// At most one row table per edge type more than the partition will take.
uint64_t EstimateDglBytes(const PartConfig& config, PartId part);

std::shared_ptr<const Partition> LoadDglPartition(const PartConfig& config, PartId part,
                                                  const LoadOptions& options);

}  // namespace graphd
