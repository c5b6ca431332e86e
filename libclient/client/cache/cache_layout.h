// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <atomic>
#include <cstddef>
#include <cstdint>

// The layout of a row cache in memory that several processes map.
//
// The memory is divided into extents of equal size; the header and a table of features follow them.
// A feature that is used for the first time gets as many as all its rows need, or its share of them
// if those of all features need more than there are, and then another one whenever it has evicted
// enough rows since the last one, so that the features share the memory as they need it. It never
// gives one back. A row's extent follows from its id and the number of the feature's extents by
// consistent hashing (Lamping and Veach, "A Fast, Minimal Memory, Consistent Hash Algorithm",
// 2014): a new extent takes its share of the rows of each other one, and the other rows stay where
// they are. A row that has moved is also looked for in its extent before. Rows that are kept stay
// where they are: a feature keeps them in the extents that it has when the first ones are kept, and
// then the extent among these takes the place of the previous one.
//
// An extent consists of sets of 16 rows, and a row can be in one set of its extent only. Each set
// evicts by itself (sieve_queue.h); some of its rows may be kept, which are in no queue. So a
// writer changes one set, under a sequence lock of its own, and no process ever waits for a lock: a
// reader that finds a set locked treats its row as missing, and a writer does not store its row, or
// tries again a few times if the row should be kept.

namespace graphd {

inline constexpr uint64_t kCacheMagic = 0x6568636143776f52;  // "RowCache"
inline constexpr uint32_t kCacheFormat = 2;
inline constexpr uint32_t kMostExtents = 64;
inline constexpr unsigned kSetRows = 16;
inline constexpr unsigned kMostKept = 12;  // rows of a set that are never evicted

// The lock of a set counts its changes in the lower bits, and is odd while the set is changed. The
// upper bits are then the process that changes it, so that others notice when that was killed.
inline constexpr unsigned kOwnerShift = 40;
inline constexpr uint64_t kVersionMask = (uint64_t{1} << kOwnerShift) - 1;

// The beginning of a set. Its rows follow, each after its id, in slots of equal size.
struct alignas(64) CacheSet {
  std::atomic<uint64_t> lock;
  std::atomic<uint32_t> visited;  // a bit for each row that was read
  std::atomic<uint32_t> used;     // a bit for each slot that has a row
  std::atomic<uint64_t> order;    // SieveQueue::order
  std::atomic<uint32_t> queue;    // SieveQueue::size and, from bit 8 on, ::hand
  std::atomic<uint32_t> kept;     // a bit for each slot whose row is never evicted
  // 16 bits of each row's hash, four rows a word.
  std::atomic<uint64_t> tags[kSetRows / 4];
};
static_assert(sizeof(CacheSet) == 64);

// A feature.
struct alignas(64) CacheTable {
  uint64_t row_bytes;
  std::atomic<uint32_t> num_extents;
  std::atomic<uint32_t> grower;        // the process that adds an extent, or 0
  std::atomic<uint64_t> evicted;       // rows since the last extent was added
  std::atomic<uint32_t> kept_extents;  // the first ones, which have the rows that are kept; 0: none
  std::atomic<uint16_t> extents[kMostExtents];
};

struct alignas(64) CacheHeader {
  uint64_t magic;
  uint32_t format;
  uint32_t num_tables;
  uint64_t key;    // identifies the graph that the rows belong to
  uint64_t bytes;  // the size of the whole memory
  uint64_t extent_bytes;
  uint32_t num_extents;
  std::atomic<uint32_t> extents_taken;
};

}  // namespace graphd
