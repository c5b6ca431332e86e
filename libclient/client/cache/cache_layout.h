// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <atomic>
#include <cstddef>
#include <cstdint>

// The layout of a row cache in memory that several processes map.
//
// The memory is divided into extents of equal size; the header and a table of features follow them.
// A feature that is used for the first time gets as many extents as all its rows need, or a
// proportional share of the extents if the rows of all features need more than there are. It gets
// one more extent whenever it has evicted enough rows since it got its last one, so that the
// features share the memory as they need it. A feature never gives an extent back. A row's extent
// follows from its id and the number of the feature's extents by consistent hashing (Lamping and
// Veach, "A Fast, Minimal Memory, Consistent Hash Algorithm", 2014): a new extent takes its share
// of the rows of each older extent, and all other rows stay where they are. A row that has moved is
// also looked for in its previous extent. Kept rows never move: a feature keeps rows only in the
// extents that it has when its first row is kept, and a row that may be kept is looked for in its
// extent among these instead of its previous extent.
//
// An extent consists of sets of 16 rows, and a row can be in one set of its extent only. Each set
// evicts by itself (sieve_queue.h), except that kept rows are in no queue. A writer therefore
// changes only one set, and holds this set's own sequence lock while it does. No process ever waits
// for this lock: a reader that finds a set locked treats its row as missing, and a writer leaves
// its row out, or tries again a few times if the row is to be kept.

namespace graphd {

inline constexpr uint64_t kCacheMagic = 0x6568636143776f52;  // "RowCache"
inline constexpr uint32_t kCacheFormat = 2;
inline constexpr uint32_t kMostExtents = 64;
inline constexpr unsigned kSetRows = 16;
inline constexpr unsigned kMostKept = 12;  // rows of a set that are never evicted

// The lock of a set counts the set's changes in its lower bits, and is odd during a change. Its
// upper bits then hold the id of the process that makes the change, so that other processes notice
// if that process was killed.
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

// The state of a feature: its extents, and how it may grow.
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
