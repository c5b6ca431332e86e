// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <cstdint>
#include <memory>

#include "format/config/load_options.h"
#include "format/config/part_config.h"

// Partitions in DGL's format: graph.dgl, node_feat.dgl and edge_feat.dgl. LoadPartition and
// EstimatePartitionBytes (load.h) call these functions, which have the same contract.

namespace graphd {

// Implements EstimatePartitionBytes. The estimate exceeds the actual size by at most one edge_rows
// array per edge type.
uint64_t EstimateDglBytes(const PartConfig& config, PartId part);

std::shared_ptr<const Partition> LoadDglPartition(const PartConfig& config, PartId part,
                                                  const LoadOptions& options);

}  // namespace graphd
