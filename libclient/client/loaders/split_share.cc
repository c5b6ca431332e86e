// SPDX-License-Identifier: Apache-2.0
#include "client/loaders/split_share.h"

#include <algorithm>
#include <numeric>

namespace graphd {

int64_t PieceBegin(int64_t size, int64_t index, int64_t count) {
  return index * (size / count) + std::min(index, size % count);
}

namespace {

// Cuts the concatenation of all partitions into pieces and returns one of them.
std::vector<PartShare> Cut(std::span<const int64_t> sizes, int index, int count) {
  const int64_t total = std::accumulate(sizes.begin(), sizes.end(), int64_t{0});
  const int64_t begin = PieceBegin(total, index, count);
  const int64_t end = PieceBegin(total, index + 1, count);
  std::vector<PartShare> shares;
  int64_t before = 0;  // objects in preceding partitions
  for (size_t p = 0; p < sizes.size(); before += sizes[p++]) {
    const int64_t from = std::max(begin - before, int64_t{0});
    const int64_t to = std::min(end - before, sizes[p]);
    if (from < to) shares.push_back({static_cast<PartId>(p), from, to});
  }
  return shares;
}

// Cuts the objects that follow the first objects of each partition into pieces, and returns one of
// the pieces.
std::vector<PartShare> CutRest(std::span<const int64_t> sizes, std::span<const int64_t> firsts,
                               int index, int count) {
  std::vector<int64_t> rest(sizes.begin(), sizes.end());
  for (size_t p = 0; p < rest.size(); p++) rest[p] -= firsts[p];
  std::vector<PartShare> shares = Cut(rest, index, count);
  for (PartShare& share : shares) {
    const int64_t first = firsts[static_cast<size_t>(share.part)];
    share.begin += first;
    share.end += first;
  }
  return shares;
}

}  // namespace

std::vector<PartShare> EvenShare(std::span<const int64_t> sizes, int rank, int world_size,
                                 int remote) {
  const int owners = world_size - remote;
  // The running sums of `firsts` are rounded instead of each element, so that the total is exactly
  // the share of the trainers with partitions.
  std::vector<int64_t> firsts;
  int64_t before = 0;
  for (const int64_t size : sizes) {
    firsts.push_back(OwnersShare(before + size, world_size, remote) -
                     OwnersShare(before, world_size, remote));
    before += size;
  }
  return rank < owners ? Cut(firsts, rank, owners) : CutRest(sizes, firsts, rank - owners, remote);
}

int64_t OwnersShare(int64_t size, int world_size, int remote) {
  return PieceBegin(size, world_size - remote, world_size);
}

std::vector<PartShare> RemoteShare(std::span<const int64_t> sizes, int rank, int world_size,
                                   int remote) {
  std::vector<int64_t> firsts;
  for (const int64_t size : sizes) firsts.push_back(OwnersShare(size, world_size, remote));
  return CutRest(sizes, firsts, rank - (world_size - remote), remote);
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
