// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <utility>
#include <vector>

#include "base/fork.h"
#include "client/cache/cache_members.h"
#include "client/cache/row_cache.h"
#include "client/link/daemon_link.h"
#include "client/routing/row_requests.h"
#include "graph/partition.h"

namespace graphd {

// The rows that a read did not find in the cache. Memory is reused from call to call.
struct MissingRows {
  // Rows that this call has to request.
  std::vector<int64_t> ids;        // distinct
  std::vector<int64_t> positions;  // the places of their rows
  RowRequests::Begun request;      // tells others that they will be in the cache
  // Rows that other calls of this process have requested, and these calls.
  std::vector<int64_t> awaited_ids;  // distinct
  std::vector<int64_t> awaited_positions;
  RowRequests::Earlier awaited;
  // Positions of ids that occur again, each with the position that gets the row.
  std::vector<std::pair<int64_t, int64_t>> copies;

  std::vector<uint32_t> indices;  // used while they are found

  // Drops the rows, and ends the request.
  void Clear();
  // Copies the rows of ids that occur again to their places, once the others are in `out`.
  void CopyAgain(size_t row_bytes, std::byte* out) const noexcept;
};

// The cache of features' rows that daemons on other machines have, which the trainers of this
// machine share. Thread-safe.
class CachedRows {
 public:
  // Joins the trainers of this user on this machine whose graph has these features and this data,
  // with memory of `bytes` if there are none. `is_remote` tells of which partitions rows are
  // cached. Throws as CacheMembers does.
  CachedRows(uint64_t bytes, uint64_t data, const PartitionBook& book,
             const std::vector<bool>& is_remote, const std::vector<std::vector<FeatureInfo>>& nodes,
             const std::vector<std::vector<FeatureInfo>>& edges);
  ~CachedRows();

  // The feature's number in the cache; nothing if its rows are not cached, as in a forked child.
  std::optional<size_t> Find(const FeatureRef& feature) const;

  // Copies the rows of a partition that are cached to their positions of `out`, and sets `missing`,
  // whose request begins. Returns how many were found, and how many are to be requested.
  DaemonLink::Cached Read(PartId part, size_t feature, std::span<const int64_t> ids,
                          std::span<const int64_t> positions, std::byte* out, MissingRows& missing);
  // Stores the rows that this call has requested, once they are in `out`, and ends the request.
  void Store(size_t feature, MissingRows& missing, const std::byte* out);
  // Waits for the rows that other calls have requested, and copies them to `out`. Those that are
  // not in the cache then, because a call has failed or rows were evicted at once, become the ones
  // to request. Requires that this call has stored all rows that it has requested, because the
  // other calls may wait for them.
  DaemonLink::Cached ReadAwaited(size_t feature, MissingRows& missing, std::byte* out,
                                 std::chrono::steady_clock::time_point deadline);

  RowCache& cache() const noexcept { return *cache_; }

 private:
  const OwnProcess process_;
  std::shared_ptr<CacheMembers> members_;  // abandoned in forked children
  std::unique_ptr<RowCache> cache_;
  RowRequests requests_;
  // [type] the number of its first feature, and one past the last; [number] its name.
  std::vector<size_t> first_node_, first_edge_;
  std::vector<std::string> names_;
};

}  // namespace graphd
