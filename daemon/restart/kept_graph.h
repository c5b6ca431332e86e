// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "daemon/restart/descriptor_store.h"
#include "format/io/file_stamp.h"
#include "graph/partition.h"
#include "sampling/index/edge_index.h"

namespace graphd {

// The partitions that a daemon serves, as it gives them to its successor through the service
// manager. Their segments are sealed, so the successor need neither read nor check their contents:
// it is ready after a few milliseconds, whatever the graph's size. A manifest, which is kept as a
// descriptor as well, says what the segments hold and from which files they were loaded. It has a
// checksum of itself, and a checksum of the head of each segment: the first bytes of all of the
// segment's arrays.
//
// A value; used by one thread at a time.
struct KeptGraph {
  using Indexes = std::map<std::pair<PartId, EdgeIndexSpec>, std::shared_ptr<const Segment>>;

  std::string part_config;
  std::vector<FileStamp> files;  // all files that the partitions were loaded from
  std::vector<std::shared_ptr<const Partition>> partitions;
  Indexes indexes;  // derived arrays, by partition
  // The owners of large mapped books (ServedGraph::Owners); null if there are none.
  std::shared_ptr<const Segment> node_owners, edge_owners;

  // Returns the graph that an earlier process of this service kept, if it consists of these
  // partitions of this part config, none of its files has changed, its manifest has the version
  // that this program writes, and all checksums are right. Otherwise returns none, logs the reason,
  // and makes the service manager close all descriptors of graphs, so that their memory is free
  // before the graph is loaded again.
  static std::optional<KeptGraph> Take(DescriptorStore& store, const std::string& part_config,
                                       const std::vector<PartId>& parts);

  // Gives everything to the service manager to keep, the manifest last: if a process ends before
  // the manifest is sent, Take refuses what it has left. Throws Error(kIo) if a descriptor can't be
  // sent.
  void Keep(DescriptorStore& store) const;
};

}  // namespace graphd
