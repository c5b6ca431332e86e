// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <cstdint>

#include "format/input/raw_graph.h"
#include "format/native/storage_plan.h"
#include "format/partition/assign_nodes.h"

// The shares of the memory of a run that partitions a graph out of core: the program itself, pages
// of mapped files, what is held for each node, and the rest for sorting and buffers ("work").

namespace graphd {

// Throws Error(kOverloaded) if `memory` is not enough for any graph.
void CheckLeastMemory(uint64_t memory);

// Returns the share of resident pages of mapped files.
uint64_t MappedShare(uint64_t memory) noexcept;

// Returns the share for sorting and buffers. Throws Error(kOverloaded) with the least memory that
// the graph needs if this is more.
uint64_t CheckedWorkShare(const RawGraph& graph, const StoragePlan& storage,
                          const AssignOptions& options, uint64_t memory);

// Returns the most that the neighbours of nodes take on the disk while nodes are assigned.
uint64_t NeighbourBytesOnDisk(const RawGraph& graph, const AssignOptions& options);

// Returns what an edge takes on the disk while it is sorted.
uint64_t EdgeBytesOnDisk(const RawGraph& graph, const StoragePlan& storage, EdgeTypeId etype);

// Returns the size of all partitions' files, without what lies between their arrays.
uint64_t ExpectedBytes(const RawGraph& graph, const StoragePlan& storage);

// Throws Error(kOverloaded) if this process holds more memory of its own than `memory`, as it may
// while it reads a graph whose nodes have names.
void CheckResident(uint64_t memory);

}  // namespace graphd
