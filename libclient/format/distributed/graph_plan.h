// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "format/input/raw_graph.h"
#include "format/native/storage_plan.h"
#include "graph/encoding.h"
#include "graph/partition.h"
#include "graphd/schema.h"

// The description of a whole graph. Each of several processes needs it to write one partition of
// the graph. Together, they write the same bytes as PartitionGraph (partitioner.h).

namespace graphd {

struct PlannedFeature {
  std::string name;
  int64_t width = 0;  // numbers in the list of each row; 0: a row is one number
  Encoding encoding;
};

struct PlannedType {
  std::vector<int64_t> counts;  // by partition
  std::vector<PlannedFeature> features;

  int64_t count() const;
};

struct GraphPlan {
  std::string graph_name, part_method;
  Schema schema;
  std::vector<PlannedType> nodes, edges;  // by type
  bool edge_orig_id = true;

  // Throws Error(kInvalid) if types, partitions, counts, widths or encodings are impossible, or if
  // two features of a type have the same name.
  void Check() const;

  int32_t num_parts() const { return static_cast<int32_t>(nodes.at(0).counts.size()); }
  std::shared_ptr<const GraphMeta> Meta() const;
  // Returns the features of the graph, without rows.
  RawGraph Features() const;
  // Returns the encodings of all features. Those of original ids are for the ids 0 .. count() - 1
  // of each type.
  StoragePlan Storage() const;
};

}  // namespace graphd
