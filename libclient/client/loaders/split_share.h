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

// Divides the objects of all partitions into even shares and returns the share of `rank`, without
// empty entries. `sizes` has the number of objects of each partition. The last `remote` trainers
// have no partition. The other trainers, as a group, get the first objects of each partition, in
// proportion to their number among all trainers, and the remote trainers get the remaining objects.
// Each group's objects are divided in the order of partitions.
std::vector<PartShare> EvenShare(std::span<const int64_t> sizes, int rank, int world_size,
                                 int remote = 0);

// Returns the number of objects of a partition that its own trainers get if partitions are not
// balanced against one another. They get the partition's first objects.
int64_t OwnersShare(int64_t size, int world_size, int remote);
// Divides the objects that OwnersShare leaves in all partitions evenly among the remote trainers,
// and returns the share of `rank`, which is a remote trainer: at least world_size - remote.
std::vector<PartShare> RemoteShare(std::span<const int64_t> sizes, int rank, int world_size,
                                   int remote);

// A partition of a trainer, and the piece of its objects that the trainer gets.
struct PartPiece {
  PartId part = 0;
  int64_t index = 0, count = 1;
};
// Returns the pieces of a trainer that has partitions; `world_size` counts only such trainers.
std::vector<PartPiece> OwnPartitions(int32_t num_parts, int rank, int world_size);

}  // namespace graphd
