// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <cstdint>

#include "format/input/raw_graph.h"
#include "format/native/storage_plan.h"
#include "format/partition/assign_nodes.h"

// Functions that divide the memory of a run that partitions a graph out of core. The shares are for
// the program itself, for pages of mapped files, for data that is held for each node, and the rest
// ("work") for sorting and buffers.

namespace graphd {

// Throws Error(kOverloaded) if `memory` is not enough even for the smallest graph.
void CheckLeastMemory(uint64_t memory);

// Returns the share of resident pages of mapped files.
uint64_t MappedShare(uint64_t memory) noexcept;

// Returns the share for sorting and buffers. If `memory` is less than the graph needs, throws
// Error(kOverloaded), which names the least memory that is needed.
uint64_t CheckedWorkShare(const RawGraph& graph, const StoragePlan& storage,
                          const AssignOptions& options, uint64_t memory);

// Returns the maximum bytes that the neighbours of nodes take on the disk while nodes are assigned.
uint64_t NeighbourBytesOnDisk(const RawGraph& graph, const AssignOptions& options);

// Returns the bytes that an edge takes on the disk while it is sorted.
uint64_t EdgeBytesOnDisk(const RawGraph& graph, const StoragePlan& storage, EdgeTypeId etype);

// Returns the size of all partitions' files, without the padding between their arrays.
uint64_t ExpectedBytes(const RawGraph& graph, const StoragePlan& storage);

// Throws Error(kOverloaded) if this process holds more memory of its own (without pages of files)
// than `memory` without MappedShare. This may happen while it reads a graph whose nodes have names.
void CheckResident(uint64_t memory);

}  // namespace graphd
