// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <cstdint>
#include <span>
#include <vector>

#include "graphd/schema.h"

// Arithmetic for dividing the objects of partitions among trainers.

namespace graphd {

// Returns where piece `index` of `count` pieces begins. The sizes of the pieces differ by at most
// 1, and the longer ones come first. Requires 0 <= index <= count.
int64_t PieceBegin(int64_t size, int64_t index, int64_t count);

// A trainer's objects of a partition: [begin, end) in the partition's order.
struct PartShare {
  PartId part = 0;
  int64_t begin = 0, end = 0;
};

// Cuts the concatenation of all partitions into even shares and returns the one of `rank`, without
// empty entries. `sizes` has the number of objects of each partition.
std::vector<PartShare> EvenShare(std::span<const int64_t> sizes, int rank, int world_size);

// A partition that belongs to a trainer, and the piece of it that is the trainer's.
struct PartPiece {
  PartId part = 0;
  int64_t index = 0, count = 1;
};
std::vector<PartPiece> OwnPartitions(int32_t num_parts, int rank, int world_size);

}  // namespace graphd
