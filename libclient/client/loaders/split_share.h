// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <cstdint>
#include <span>
#include <vector>

#include "graphd/schema.h"

// Who gets how much when objects that lie in partitions are divided among trainers: arithmetic.

namespace graphd {

// Where piece `index` of `count` pieces begins whose sizes differ by at most 1, longer ones first.
// Requires: 0 <= index <= count.
int64_t PieceBegin(int64_t size, int64_t index, int64_t count);

// A trainer's objects of a partition: those at [begin, end) in the partition's order.
struct PartShare {
  PartId part = 0;
  int64_t begin = 0, end = 0;
};

// `sizes`: objects of each partition. All objects in one row, cut evenly. Partitions of which the
// trainer gets nothing are left out.
std::vector<PartShare> EvenShare(std::span<const int64_t> sizes, int rank, int world_size);

// The partitions that belong to a trainer, and which piece of them is its.
struct PartPiece {
  PartId part = 0;
  int64_t index = 0, count = 1;
};
std::vector<PartPiece> OwnPartitions(PartId num_parts, int rank, int world_size);

}  // namespace graphd
