// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <array>
#include <chrono>
#include <map>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "base/clock.h"
#include "daemon/graph/index_budget.h"
#include "graph/partition.h"
#include "sampling/index/edge_indexes.h"
#include "wire/status.h"

namespace graphd {

// The partitions that this daemon serves, with their derived arrays. Owned by the main thread.
// Thread-safe: the partitions are immutable, and EdgeIndexes does its own locking.
class ServedGraph {
 public:
  // Derived arrays by partition.
  using Indexes = std::map<std::pair<PartId, EdgeIndexSpec>, EdgeIndexes::Made>;

  // The memory in which derived arrays are built, and the condition under which other arrays are
  // dropped to make room for one.
  struct IndexMemory {
    std::shared_ptr<IndexBudget> budget = std::make_shared<IndexBudget>();
    Clock::duration idle = std::chrono::minutes(1);  // only arrays unused for this time are dropped
  };

  // `partitions` has at least one partition, and all belong to one graph. The derived arrays in
  // `made` need not be built. `data_id` identifies the data that the partitions were loaded from;
  // 0: unknown. `made_owners` has, for nodes and for edges (its index is `is_edge`), the segment of
  // `Owners` if it exists already, or null if it must be made. Throws Error(kOverloaded) if there
  // is no memory to share a mapped partition book.
  explicit ServedGraph(std::vector<std::shared_ptr<const Partition>> partitions, Indexes made = {},
                       uint64_t data_id = 0,
                       std::array<std::shared_ptr<const Segment>, 2> made_owners = {})
      : ServedGraph(std::move(partitions), std::move(made), data_id, std::move(made_owners),
                    IndexMemory()) {}
  ServedGraph(std::vector<std::shared_ptr<const Partition>> partitions, Indexes made,
              uint64_t data_id, std::array<std::shared_ptr<const Segment>, 2> made_owners,
              IndexMemory index_memory);

  const GraphMeta& meta() const noexcept { return *meta_; }
  uint64_t data_id() const noexcept { return data_id_; }
  // The owner (partition) of each node or edge of a large mapped partition book, for clients on
  // this machine, and the checksum of these owners.
  struct Owners {
    std::shared_ptr<const Segment> segment;  // null: the graph's message has the owners
    uint64_t checksum = 0;
  };
  const Owners& owners(bool is_edge) const noexcept {
    return is_edge ? edge_owners_ : node_owners_;
  }
  const std::vector<std::shared_ptr<const Partition>>& partitions() const noexcept {
    return partitions_;
  }
  // Returns a partition. Throws Error(kNotFound), which names the partitions that are served here.
  std::shared_ptr<const Partition> Find(PartId part) const;
  // Returns the partition and its derived arrays, for a query about an edge type. Throws
  // Error(kInvalid) for an edge type out of range.
  struct Found {
    std::shared_ptr<const Partition> partition;
    std::shared_ptr<EdgeIndexes> indexes;
  };
  Found Find(PartId part, EdgeTypeId etype) const;
  // Returns the derived arrays of a partition. Each array is built when it is first needed. If
  // memory is short, building drops other arrays that were not used for a while, and throws
  // Error(kOverloaded) if that is not enough.
  std::shared_ptr<EdgeIndexes> indexes(PartId part) const;
  std::vector<PartitionStatus> status() const;
  // Returns the bytes of the partitions and of the derived arrays that are built.
  uint64_t bytes() const;

 private:
  std::vector<std::shared_ptr<const Partition>> partitions_;
  std::map<PartId, std::shared_ptr<EdgeIndexes>> indexes_;
  std::shared_ptr<const GraphMeta> meta_;
  Owners node_owners_, edge_owners_;
  std::vector<PartitionStatus> status_;
  const uint64_t data_id_;
};

// Parses a value of --index: "out:REL", "alias:SRC:REL:DST/FEATURE", "order:REL/FEATURE". Throws
// Error(kInvalid) with the expected form, Error(kNotFound) for an unknown edge type.
EdgeIndexSpec ParseIndex(const Schema& schema, const std::string& text);

}  // namespace graphd
