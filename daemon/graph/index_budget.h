// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <atomic>
#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <utility>

#include "base/memory_limit.h"
#include "sampling/index/edge_indexes.h"

namespace graphd {

// The memory that a daemon may use for derived arrays (indexes), of all versions of its graph:
// what the machine has available, and not more than a limit (--index_memory). Clients make these
// arrays grow, but no client owns one, so they are not charged to accounts of PeerMemory.
// Thread-safe, without locks.
class IndexBudget {
 public:
  // A limit of 0 means that there is none.
  explicit IndexBudget(uint64_t limit = 0, std::function<MemoryLimit()> available = AvailableMemory)
      : limit_(limit), available_(std::move(available)) {}

  // Returns how much memory further arrays may use.
  MemoryLimit available() const;
  // Throws Error(kOverloaded) with the remedy if `needed` bytes are not available for `what`.
  void Check(uint64_t needed, const std::string& what) const;
  // Counts an array until nobody holds the returned pointer. Memory that another process has mapped
  // does not count after that.
  EdgeIndexes::Made Count(EdgeIndexes::Made array);
  // Returns the bytes of all arrays that count.
  uint64_t used() const noexcept { return *used_; }
  // Sets the limit. If it is lower than used(), arrays stay, but none is added.
  void SetLimit(uint64_t limit) noexcept { limit_ = limit; }

 private:
  std::atomic<uint64_t> limit_;
  const std::function<MemoryLimit()> available_;
  // Shared with the arrays, which may live longer than this.
  const std::shared_ptr<std::atomic<uint64_t>> used_ = std::make_shared<std::atomic<uint64_t>>(0);
};

}  // namespace graphd
