// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "graph/partition.h"
#include "sampling/index/edge_indexes.h"
#include "wire/status.h"

namespace graphd {

// The partitions that this daemon serves, and what it has done with them. The partitions are
// immutable, the counters atomic, the indexes locked by themselves: thread-safe.
class ServedGraph {
 public:
  // All of one graph; at least one.
  explicit ServedGraph(std::vector<std::shared_ptr<const Partition>> partitions);

  const GraphMeta& meta() const noexcept { return *meta_; }
  const std::vector<std::shared_ptr<const Partition>>& partitions() const noexcept {
    return partitions_;
  }
  // Throws Error(kNotFound) naming the partitions that are served here.
  std::shared_ptr<const Partition> Find(PartId part) const;
  // The same with its derived arrays, for a question about an edge type. Throws Error(kInvalid) for
  // a type that there is not.
  struct Found {
    std::shared_ptr<const Partition> partition;
    std::shared_ptr<EdgeIndexes> indexes;
  };
  Found Find(PartId part, EdgeTypeId etype) const;
  // Derived arrays of a partition, made when first needed; shortage of memory is
  // Error(kOverloaded).
  std::shared_ptr<EdgeIndexes> indexes(PartId part) const;
  std::vector<PartitionStatus> status() const;

 private:
  std::vector<std::shared_ptr<const Partition>> partitions_;
  std::map<PartId, std::shared_ptr<EdgeIndexes>> indexes_;
  std::shared_ptr<const GraphMeta> meta_;
  std::vector<PartitionStatus> status_;
};

// An index as --index names it: "out:REL", "alias:SRC:REL:DST/FEATURE", "order:REL/FEATURE". Throws
// Error(kInvalid) saying what is right, Error(kNotFound) for an unknown edge type.
EdgeIndexSpec ParseIndex(const Schema& schema, const std::string& text);

}  // namespace graphd
