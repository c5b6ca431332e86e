// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <atomic>
#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "base/memory_limit.h"
#include "base/threads/mutex.h"
#include "sampling/index/edge_indexes.h"

namespace graphd {

// The memory that a daemon may use for derived arrays (indexes), of all versions of its graph:
// what the machine has available, and not more than a limit (--index_memory). Clients make these
// arrays grow, but no client owns one, so they are not charged to accounts of PeerMemory.
// Thread-safe: one mutex guards the list of the indexes.
class IndexBudget {
 public:
  // A limit of 0 means that there is none.
  explicit IndexBudget(uint64_t limit = 0, std::function<MemoryLimit()> available = AvailableMemory)
      : limit_(limit), available_(std::move(available)) {}

  // Returns how much memory further arrays may use.
  MemoryLimit available() const;
  // Returns whether so many bytes could be available if no array were used.
  bool CouldEverTake(uint64_t bytes) const;
  // Throws Error(kOverloaded) with the remedy if `needed` bytes are not available for `what`.
  void Check(uint64_t needed, const std::string& what) const;
  // Counts an array until nobody holds the returned pointer. Memory that another process has mapped
  // does not count after that.
  EdgeIndexes::Made Count(EdgeIndexes::Made array);
  // Adds the indexes of a partition, of any version of the graph, to those that All returns.
  void Add(const std::shared_ptr<EdgeIndexes>& indexes);
  // Returns the indexes that exist, in the order in which they were added.
  std::vector<std::shared_ptr<EdgeIndexes>> All() const;
  // Returns the bytes of all arrays that count.
  uint64_t used() const noexcept { return *used_; }
  // Sets the limit. If it is lower than used(), arrays stay, but none is added.
  void SetLimit(uint64_t limit) noexcept { limit_ = limit; }

 private:
  mutable Mutex mutex_;
  std::vector<std::weak_ptr<EdgeIndexes>> all_ GRAPHD_GUARDED_BY(mutex_);
  std::atomic<uint64_t> limit_;
  const std::function<MemoryLimit()> available_;
  // Shared with the arrays, which may live longer than this.
  const std::shared_ptr<std::atomic<uint64_t>> used_ = std::make_shared<std::atomic<uint64_t>>(0);
};

}  // namespace graphd
