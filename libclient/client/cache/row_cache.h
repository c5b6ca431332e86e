// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <sys/types.h>

#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <mutex>
#include <span>
#include <string>
#include <vector>

#include "base/fork.h"
#include "client/cache/cache_memory.h"

namespace graphd {

// Counts of what a process has done with a row cache since it joined.
struct RowCacheCounts {
  uint64_t hits = 0;       // rows that were read
  uint64_t misses = 0;     // rows that were looked for but not found
  uint64_t hit_bytes = 0;  // the size of the rows that were read
  uint64_t inserted = 0;   // rows that were stored
  uint64_t evicted = 0;    // rows that were removed to make room for stored rows
  uint64_t kept = 0;       // rows that Keep has made permanent, and that were not permanent before
};

// A bounded cache of rows that never change: features of nodes and edges that are read from other
// machines. It lies in memory that the processes of a machine may share (cache_layout.h). It evicts
// rows by SIEVE, except those that Keep has stored, which form a static cache as in PaGraph (Lin et
// al., SoCC 2020) and GNNLab (Yang et al., EuroSys 2022).
//
// Thread-safe, also between processes, without waiting: readers lock nothing, and a row whose set
// is being changed counts as missing. (Only the first rows of a feature wait, at most 0.2 s, for a
// thread that gets memory for them.) A process that is killed while it changes a set leaves the set
// locked; the next process that wants to store a row in this set empties it. A forked child makes a
// cache of its own.
class RowCache {
 public:
  // `memory` must outlive the cache. `rows` has the meaning of CacheShape::rows.
  explicit RowCache(CacheMemory& memory, std::vector<uint64_t> rows = {});
  ~RowCache();
  RowCache(const RowCache&) = delete;
  RowCache& operator=(const RowCache&) = delete;

  // Returns whether rows of a feature can be stored: a set of such rows must fit into an extent.
  bool CanHold(size_t table) const noexcept { return tables_[table].sets_per_extent > 0; }

  // Copies the rows that are cached: row ids[i] to row positions[i] of `out`. Replaces the contents
  // of `missing` by the indices i of the rows that are not cached, ascending; their rows of `out`
  // are left with undefined contents.
  void Read(size_t table, std::span<const int64_t> ids, std::span<const int64_t> positions,
            std::byte* out, std::vector<uint32_t>& missing);

  // Stores rows: row ids[i] is row positions[i] of `rows`. Rows that are cached already are not
  // stored again. Rows whose set another thread is changing are not stored.
  void Insert(size_t table, std::span<const int64_t> ids, std::span<const int64_t> positions,
              const std::byte* rows);

  // Adds extents to a feature until they can hold `rows` rows, which Keep will store. The feature
  // may get more than its share, but not the extents that are reserved for features without
  // extents. The first call, by any process, decides: kept rows are stored only in the extents that
  // the feature has when this call has returned, and later calls have no effect. Before the first
  // call, Keep makes no row permanent. Returns false if there is no memory for rows of the feature,
  // or if another process takes more than ten seconds to add extents. Passes on what the thread's
  // InterruptCheck throws.
  bool PrepareToKeep(size_t table, uint64_t rows);
  // Stores rows as Insert does, and never evicts them, unless a process is killed while it changes
  // their set. At most kMostKept of the kSetRows rows of a set are kept; further rows are stored,
  // but may be evicted. Returns how many of the rows are kept.
  int64_t Keep(size_t table, std::span<const int64_t> ids, std::span<const int64_t> positions,
               const std::byte* rows);

  // Subtracts rows from the misses, because they will be read again or counted by CountShared.
  void TakeBackMisses(uint64_t count) noexcept {
    misses_.fetch_sub(count, std::memory_order_relaxed);
  }
  // Counts as hits the rows that a reader has got from another reader, which stores them in the
  // cache, and as misses the rows that it wanted but has not got from it.
  void CountShared(size_t table, uint64_t found, uint64_t missing) noexcept {
    hits_.fetch_add(found, std::memory_order_relaxed);
    hit_bytes_.fetch_add(found * tables_[table].row_bytes, std::memory_order_relaxed);
    misses_.fetch_add(missing, std::memory_order_relaxed);
  }
  RowCacheCounts counts() const noexcept;
  // Returns the bytes of the memory.
  uint64_t capacity() const noexcept { return memory_.bytes(); }
  // Returns the bytes of the extents that all features use together, or 0 in a forked child, which
  // does not have the memory.
  uint64_t used_bytes() const noexcept;

 private:
  struct Table {
    size_t row_bytes = 0, slot_bytes = 0, set_bytes = 0;
    uint64_t sets_per_extent = 0;  // 0: a set does not fit an extent
  };
  struct Place;  // the place of a row, if it is cached
  struct Extents;
  struct Choices;
  class Change;

  Extents ExtentsOf(size_t table);
  const Choices& ChoicesOf(uint32_t num_extents);
  Place Locate(const Table& table, const Extents& extents, int64_t id) const noexcept;
  static void Find(const Table& table, int64_t id, Place& place) noexcept;
  static bool FindIn(const Table& table, int64_t id, Place& place) noexcept;
  bool Copy(const Table& table, int64_t id, const Place& place, std::byte* out) const noexcept;
  struct Stored {
    uint64_t inserted = 0, evicted = 0, kept = 0;
    int64_t staying = 0;  // rows that stay, kept now or before
  };
  // Stores a row, unless it is stored already. Returns false if its set is being changed.
  bool Store(const Table& table, const Extents& extents, int64_t id, const std::byte* row,
             bool keep, Stored& stored) const noexcept;
  // Stores rows; returns how many of them stay.
  int64_t StoreRows(size_t table, std::span<const int64_t> ids, std::span<const int64_t> positions,
                    const std::byte* rows, bool keep);
  // Adds an extent to a feature that has none, or that has evicted many rows. Leaves some extents
  // to the features that have none yet.
  void GrowIfNeeded(size_t table) noexcept;
  void Grow(size_t table) noexcept;
  uint64_t NeededExtents(size_t table) const noexcept;
  uint32_t FirstExtents(size_t table, uint32_t left) const noexcept;
  uint32_t Reserved() const noexcept;

  CacheMemory& memory_;
  const OwnProcess process_;
  const pid_t pid_;
  std::vector<Table> tables_;
  const std::vector<uint64_t> rows_;
  // [number of extents], computed when first needed
  std::array<std::once_flag, kMostExtents + 1> computed_;
  std::array<std::unique_ptr<const Choices>, kMostExtents + 1> choices_;
  std::atomic<bool> is_full_{false};  // no extent is left, or no memory for it
  alignas(64) std::atomic<uint64_t> hits_{0}, misses_{0}, hit_bytes_{0};
  alignas(64) std::atomic<uint64_t> inserted_{0}, evicted_{0}, kept_{0};
};

}  // namespace graphd
