// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <sys/types.h>

#include <memory>
#include <string>

#include "graph/partition.h"
#include "graphd/dist_graph.h"

namespace graphd::bench {

// A random graph in memory, one partition: `nodes` nodes with `degree` in-edges each, and float
// features "feat" of `columns` columns unless 0.
std::shared_ptr<const Partition> RandomPartition(int64_t nodes, int64_t degree,
                                                 int64_t columns = 0);

// A graph of one partition, as standalone mode opens it; without features.
DistGraph LocalGraph(std::shared_ptr<const Partition> partition);

// The same graph written to a directory of its own and served by a real graphd; both end with the
// object.
class ServedGraph {
 public:
  ServedGraph(int64_t nodes, int64_t degree, int64_t columns);
  ~ServedGraph();
  ServedGraph(const ServedGraph&) = delete;
  ServedGraph& operator=(const ServedGraph&) = delete;
  Options ClientOptions(Transport transport) const;

 private:
  std::string directory_, ip_config_;
  pid_t pid_ = -1;
};

}  // namespace graphd::bench
