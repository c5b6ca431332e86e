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
  // The rows that this call has to request. Store clears them.
  std::vector<int64_t> ids;        // distinct
  std::vector<int64_t> positions;  // the positions of their rows in the output
  RowRequests::Begun request;      // announces the rows to other calls
  // The rows that other calls of this process have requested.
  std::vector<std::unique_ptr<RowRequest::Awaited>> awaited;
  // The positions of ids that occur more than once, each with the position that gets the row.
  std::vector<std::pair<int64_t, int64_t>> copies;

  // The following members are used only while the rows above are determined.
  std::vector<uint32_t> indices;
  DistinctIds distinct;
  std::vector<bool> is_awaited;

  // Drops the rows, and ends the request.
  void Clear();
  // Copies the rows of ids that occur more than once to their other positions, once the first
  // copies are in `out`.
  void CopyAgain(size_t row_bytes, std::byte* out) const noexcept;
};

// The rows of features that are read from daemons on other machines, and that calls share. If
// several threads of this process need the same row at the same time, it is requested once. With a
// cache, the trainers of this machine also share rows that were requested earlier. Thread-safe.
class SharedRows {
 public:
  // `is_remote` tells whether the rows of a partition are shared. If `cache_bytes` is not 0, joins
  // the cache of this user's trainers on this machine whose graph has the same features and the
  // same data, or creates a cache of `cache_bytes` if there is none. Throws as CacheMembers does.
  SharedRows(uint64_t cache_bytes, uint64_t data, const PartitionBook& book,
             const std::vector<bool>& is_remote, const std::vector<std::vector<FeatureInfo>>& nodes,
             const std::vector<std::vector<FeatureInfo>>& edges);
  ~SharedRows();

  // Returns the feature's number; nothing if its rows are not shared, as in a forked child.
  std::optional<size_t> Find(const FeatureRef& feature) const;

  // Copies the rows of a partition that are cached to their positions in `out`. Sets `missing` to
  // the other rows, and begins the request for them. Returns how many rows were found in the cache,
  // and how many were not found and must be requested; both are 0 without a cache. `out` must live
  // until `missing` is cleared.
  DaemonLink::Cached Read(PartId part, size_t feature, std::span<const int64_t> ids,
                          std::span<const int64_t> positions, std::byte* out, MissingRows& missing);
  // Ends the request for the rows of this call once they are in `out`: stores them in the cache and
  // gives them to calls that wait.
  void Store(MissingRows& missing, const std::byte* out);
  // Waits for the rows that other calls have requested. Rows that do not arrive, because a call has
  // failed or takes too long, are added to the rows that this call has to request. Returns the same
  // counts as Read. This call must have stored all rows that it has requested, because the other
  // calls may wait for them.
  DaemonLink::Cached ReadAwaited(MissingRows& missing,
                                 std::chrono::steady_clock::time_point deadline);

  // Returns null if there is no cache.
  RowCache* cache() const noexcept { return cache_.get(); }

 private:
  // Divides the distinct rows of `missing` into rows that earlier calls have requested and rows
  // that this call has to request. Returns the number of the former. `number_of(i)` is the number
  // of row i of `missing` in the request.
  template <class NumberOf>
  static size_t LeaveToOthers(const RowRequests::Earlier& earlier, RowRequest& request,
                              NumberOf number_of, std::byte* out, MissingRows& missing);
  // Looks once more in the cache for the rows that are to be requested, and returns how many it has
  // found. Other calls may have stored rows after this call first looked, and before it began its
  // request.
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
