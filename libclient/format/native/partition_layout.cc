// SPDX-License-Identifier: Apache-2.0
#include "format/native/partition_layout.h"

#include <string>
#include <vector>

#include "base/index.h"
#include "format/partition/plan.h"

namespace graphd {
namespace {

// Adds the features of a type to a layout.
template <class Name>
void AddFeatures(SegmentLayout& layout, const std::vector<RawFeature>& features,
                 const std::vector<Encoding>& encodings, int64_t rows, Name&& name) {
  for (size_t i = 0; i < features.size(); i++) {
    std::vector<int64_t> shape = features[i].values.shape();
    shape[0] = rows;
    layout.Add(name(features[i].name), encodings[i], std::move(shape));
  }
}

}  // namespace

SegmentLayout GraphLayout(const GraphMeta& meta, PartId part) {
  SegmentLayout layout;
  const Schema& schema = meta.schema;
  for (EdgeTypeId e = 0; e < schema.num_etypes(); e++) {
    const int64_t sources = meta.book.nodes().count(schema.src_type(e));
    layout.Add(Partition::IndptrName(e), DType::kUInt64,
               {meta.book.nodes().count_in(part, schema.dst_type(e)) + 1});
    layout.Add(Partition::IndicesName(e), Partition::IdDType(sources),
               {meta.book.edges().count_in(part, e)});
  }
  return layout;
}

SegmentLayout NodeFeatureLayout(const RawGraph& graph, const GraphMeta& meta,
                                const StoragePlan& storage, PartId part) {
  SegmentLayout layout;
  for (NodeTypeId t = 0; t < meta.schema.num_ntypes(); t++) {
    const int64_t rows = meta.book.nodes().count_in(part, t);
    AddFeatures(layout, graph.nodes[Index(t)].features, storage.node_features[Index(t)], rows,
                [&](const std::string& name) { return Partition::NodeFeatureName(t, name); });
    layout.Add(Partition::NodeFeatureName(t, kOrigId), storage.node_orig_ids[Index(t)], {rows});
  }
  return layout;
}

SegmentLayout EdgeFeatureLayout(const RawGraph& graph, const GraphMeta& meta,
                                const StoragePlan& storage, PartId part) {
  SegmentLayout layout;
  for (EdgeTypeId e = 0; e < meta.schema.num_etypes(); e++) {
    const int64_t rows = meta.book.edges().count_in(part, e);
    AddFeatures(layout, graph.edges[Index(e)].features, storage.edge_features[Index(e)], rows,
                [&](const std::string& name) { return Partition::EdgeFeatureName(e, name); });
    if (!storage.edge_orig_id) continue;
    layout.Add(Partition::EdgeFeatureName(e, kOrigId), storage.edge_orig_ids[Index(e)], {rows});
  }
  return layout;
}

}  // namespace graphd
