// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <cstdint>
#include <span>

#include "graph/partition.h"

// Functions that turn the slots of sampled edges, which are positions in a Csc, into the ids of a
// mini-batch. Slots must be in range. Reads are prefetched 16 slots ahead (bench/method_bench).
// Thread-safe: no state.

namespace graphd {

// Writes the type-wise ids of the slots' neighbours. Out is uint32_t (if the CSC's indices are),
// uint64_t or int64_t.
template <class Out>
void WriteNeighbors(const Csc& csc, std::span<const uint64_t> slots, Out* out);

// Writes the local edge rows of slots; `rows` may be `slots` itself.
void WriteEdgeRows(const Csc& csc, std::span<const uint64_t> slots, uint64_t* rows);

// Writes the type-wise edge ids of slots in `csc`, which is the partition's Csc of this edge type,
// or that of its out index. Out is uint64_t or int64_t.
template <class Out>
void WriteEdgeIds(const Partition& partition, EdgeTypeId etype, const Csc& csc,
                  std::span<const uint64_t> slots, Out* ids);

}  // namespace graphd
