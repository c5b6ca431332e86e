// SPDX-License-Identifier: Apache-2.0
#include "format/distributed/graph_plan.h"

#include <numeric>
#include <set>

#include "base/index.h"
#include "base/strings.h"
#include "format/arrow/column.h"
#include "format/native/encoder.h"
#include "format/partition/plan.h"

namespace graphd {
namespace {

std::vector<std::vector<int64_t>> CountsOf(const std::vector<PlannedType>& types) {
  std::vector<std::vector<int64_t>> counts;
  for (const PlannedType& type : types) counts.push_back(type.counts);
  return counts;
}

std::vector<RawFeature> WithoutRows(const std::vector<PlannedFeature>& planned) {
  std::vector<RawFeature> features;
  for (const PlannedFeature& feature : planned) {
    std::vector<int64_t> shape{0};
    if (feature.width > 0) shape.push_back(feature.width);
    features.push_back({feature.name, Tensor::Empty(feature.encoding.dtype, std::move(shape))});
  }
  return features;
}

std::vector<Encoding> EncodingsOf(const std::vector<PlannedFeature>& features) {
  std::vector<Encoding> encodings;
  for (const PlannedFeature& feature : features) encodings.push_back(feature.encoding);
  return encodings;
}

void CheckType(const PlannedType& type, const std::string& name, size_t parts) {
  if (type.counts.size() != parts || parts == 0 || parts > Index(int64_t{kMaxParts})) {
    Throw(ErrorCode::kInvalid, "type '", name, "' has counts for ", type.counts.size(),
          " partitions, expected ", parts, ", which must be 1 to ", kMaxParts);
  }
  for (const int64_t count : type.counts) {
    if (count >= 0 && count <= kMaxRawCount) continue;
    Throw(ErrorCode::kInvalid, "type '", name, "' has ", count,
          " nodes or edges in a partition, expected 0 to ", kMaxRawCount);
  }
  std::set<std::string> names{kOrigId};
  for (const PlannedFeature& feature : type.features) {
    CheckEncoding(feature.encoding);
    if (!names.insert(feature.name).second) {
      Throw(ErrorCode::kInvalid, "type '", name, "' has two features '", feature.name,
            "', or one of the name that the original ids get; rename one");
    }
    if (feature.width >= 0 && feature.width <= kMaxListSize) continue;
    Throw(ErrorCode::kInvalid, "feature '", feature.name, "' of type '", name, "' has lists of ",
          feature.width, " numbers; a feature may have ", kMaxListSize);
  }
}

}  // namespace

int64_t PlannedType::count() const {
  return std::accumulate(counts.begin(), counts.end(), int64_t{0});
}

void GraphPlan::Check() const {
  if (Index(schema.num_ntypes()) != nodes.size() || Index(schema.num_etypes()) != edges.size() ||
      nodes.empty()) {
    Throw(ErrorCode::kInvalid, "graph '", graph_name, "': the types and their counts differ");
  }
  const size_t parts = nodes[0].counts.size();
  for (size_t t = 0; t < nodes.size(); t++) {
    CheckType(nodes[t], schema.ntype(static_cast<NodeTypeId>(t)), parts);
  }
  for (size_t e = 0; e < edges.size(); e++) {
    CheckType(edges[e], schema.etype(static_cast<EdgeTypeId>(e)).ToString(), parts);
  }
}

std::shared_ptr<const GraphMeta> GraphPlan::Meta() const {
  return MakeGraphMeta(schema, graph_name, CountsOf(nodes), CountsOf(edges), part_method);
}

RawGraph GraphPlan::Features() const {
  RawGraph graph;
  graph.schema = schema;
  for (const PlannedType& type : nodes) {
    graph.nodes.emplace_back();
    graph.nodes.back().features = WithoutRows(type.features);
  }
  for (const PlannedType& type : edges) {
    graph.edges.emplace_back();
    graph.edges.back().features = WithoutRows(type.features);
  }
  return graph;
}

StoragePlan GraphPlan::Storage() const {
  StoragePlan storage;
  storage.edge_orig_id = edge_orig_id;
  for (const PlannedType& type : nodes) {
    storage.node_features.push_back(EncodingsOf(type.features));
    storage.node_orig_ids.push_back(OrigIdEncoding(type.count()));
  }
  for (const PlannedType& type : edges) {
    storage.edge_features.push_back(EncodingsOf(type.features));
    storage.edge_orig_ids.push_back(OrigIdEncoding(type.count()));
  }
  return storage;
}

}  // namespace graphd
