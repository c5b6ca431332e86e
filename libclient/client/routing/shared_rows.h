// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "base/fork.h"
#include "client/cache/cache_members.h"
#include "client/cache/row_cache.h"
#include "client/link/daemon_link.h"
#include "client/routing/distinct_ids.h"
#include "client/routing/row_requests.h"
#include "graph/partition.h"

namespace graphd {

// The rows that a read has to request or to wait for. Memory is reused from call to call.
struct MissingRows {
  size_t feature = 0;  // its number
  // True if the call has to request all rows, as if nothing were shared; `ids` are empty then.
  bool are_all = false;
  // Rows that this call has to request; none any more when they are stored.
  std::vector<int64_t> ids;        // distinct
  std::vector<int64_t> positions;  // the places of their rows
  RowRequests::Begun request;      // tells others that they will be there
  // Rows that other calls of this process have requested.
  std::vector<std::unique_ptr<RowRequest::Awaited>> awaited;
  // Positions of ids that occur again, each with the position that gets the row.
  std::vector<std::pair<int64_t, int64_t>> copies;

  // These are used while the others are found.
  std::vector<uint32_t> indices;
  DistinctIds distinct;
  std::vector<bool> is_awaited;

  // Drops the rows, and ends the request.
  void Clear();
  // Copies the rows of ids that occur again to their places, once the others are in `out`.
  void CopyAgain(size_t row_bytes, std::byte* out) const noexcept;
};

// Rows of features that daemons on other machines have, which calls share. The threads of this
// process request rows once that they need at the same time. With a cache, the trainers of this
// machine also share rows that they have requested before. Thread-safe.
class SharedRows {
 public:
  // `is_remote` tells of which partitions rows are shared. Joins, if `cache_bytes` is not 0, the
  // trainers of this user on this machine whose graph has these features and this data, with memory
  // of so many bytes if there are none. Throws as CacheMembers does.
  SharedRows(uint64_t cache_bytes, uint64_t data, const PartitionBook& book,
             const std::vector<bool>& is_remote, const std::vector<std::vector<FeatureInfo>>& nodes,
             const std::vector<std::vector<FeatureInfo>>& edges);
  ~SharedRows();

  // Returns the feature's number; nothing if its rows are not shared, as in a forked child.
  std::optional<size_t> Find(const FeatureRef& feature) const;

  // Copies the rows of a partition that are cached to their positions of `out`, and sets `missing`,
  // whose request begins. Returns how many were found in the cache, and how many that were not are
  // to be requested; zeros without a cache. `out` lives until `missing` is cleared.
  DaemonLink::Cached Read(PartId part, size_t feature, std::span<const int64_t> ids,
                          std::span<const int64_t> positions, std::byte* out, MissingRows& missing);
  // Ends the request for the rows of this call once they are in `out`: stores them in the cache and
  // gives them to calls that wait.
  void Store(MissingRows& missing, const std::byte* out);
  // Waits for the rows that other calls have requested. Those that do not come, because a call has
  // failed or takes too long, become the ones to request. Returns what Read does. Requires that
  // this call has stored all rows that it has requested, because the other calls may wait for them.
  DaemonLink::Cached ReadAwaited(MissingRows& missing,
                                 std::chrono::steady_clock::time_point deadline);

  // Returns null if there is no cache.
  RowCache* cache() const noexcept { return cache_.get(); }

 private:
  // Divides the distinct rows of `missing` into those that earlier calls have requested and those
  // that this call has to request. Returns how many the former are. `number_of(i)` is the number of
  // row i of `missing` in the request.
  template <class NumberOf>
  static size_t LeaveToOthers(const RowRequests::Earlier& earlier, RowRequest& request,
                              NumberOf number_of, std::byte* out, MissingRows& missing);
  // Looks once more for the rows that are to be requested, and returns how many it has found: other
  // calls may have stored them after this one has looked, and before it has begun its request.
  size_t ReadAgain(MissingRows& missing, std::byte* out);

  const OwnProcess process_;
  std::shared_ptr<CacheMembers> members_;  // abandoned in forked children
  std::unique_ptr<RowCache> cache_;
  RowRequests requests_;
  // [type] the number of its first feature, and one past the last; [number] its name and size.
  std::vector<size_t> first_node_, first_edge_;
  std::vector<std::string> names_;
  std::vector<size_t> row_bytes_;
};

}  // namespace graphd
