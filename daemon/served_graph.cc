// SPDX-License-Identifier: Apache-2.0
#include "daemon/served_graph.h"

#include "base/check.h"
#include "base/strings.h"

namespace graphd {

ServedGraph::ServedGraph(std::vector<std::shared_ptr<const Partition>> partitions)
    : partitions_(std::move(partitions)) {
  GRAPHD_CHECK(!partitions_.empty(), "a daemon serves at least one partition");
  meta_ = partitions_[0]->shared_meta();
  for (const auto& partition : partitions_) {
    const PartId id = partition->id();
    // The pages of the largest segment stand for all.
    const Segment* largest = partition->segments()[0].get();
    for (const auto& segment : partition->segments()) {
      if (segment->size() > largest->size()) largest = segment.get();
    }
    status_.push_back({id, meta_->book.nodes().count_in(id), meta_->book.edges().count_in(id),
                       partition->bytes(), PageKindName(largest->pages())});
  }
}

std::shared_ptr<const Partition> ServedGraph::Find(PartId part) const {
  std::vector<std::string> served;
  for (const auto& partition : partitions_) {
    if (partition->id() == part) return partition;
    served.push_back(std::to_string(partition->id()));
  }
  Throw(ErrorCode::kNotFound, "partition ", part, " is not served here, only ", Join(served, ", "),
        "; check the order of lines in ip_config");
}

}  // namespace graphd
