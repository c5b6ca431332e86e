// SPDX-License-Identifier: Apache-2.0
#include "client/loaders/split_share.h"

#include <algorithm>
#include <numeric>

namespace graphd {

int64_t PieceBegin(int64_t size, int64_t index, int64_t count) {
  return index * (size / count) + std::min(index, size % count);
}

std::vector<PartShare> EvenShare(std::span<const int64_t> sizes, int rank, int world_size) {
  const int64_t total = std::accumulate(sizes.begin(), sizes.end(), int64_t{0});
  const int64_t begin = PieceBegin(total, rank, world_size);
  const int64_t end = PieceBegin(total, rank + 1, world_size);
  std::vector<PartShare> shares;
  int64_t before = 0;  // objects in preceding partitions
  for (size_t p = 0; p < sizes.size(); before += sizes[p++]) {
    const int64_t from = std::max(begin - before, int64_t{0});
    const int64_t to = std::min(end - before, sizes[p]);
    if (from < to) shares.push_back({static_cast<PartId>(p), from, to});
  }
  return shares;
}

std::vector<PartPiece> OwnPartitions(int32_t num_parts, int rank, int world_size) {
  const int64_t parts = num_parts, trainers = world_size;
  std::vector<PartPiece> own;
  if (trainers < parts) {
    for (int64_t p = 0; p < parts; p++) {
      if (p * trainers / parts == rank) own.push_back({static_cast<PartId>(p), 0, 1});
    }
    return own;
  }
  const int64_t part = rank * parts / trainers;
  // Returns the first trainer r with floor(r * parts / trainers) >= p.
  const auto first_of = [&](int64_t p) { return (p * trainers + parts - 1) / parts; };
  const int64_t first = first_of(part);
  own.push_back({static_cast<PartId>(part), rank - first, first_of(part + 1) - first});
  return own;
}

}  // namespace graphd
