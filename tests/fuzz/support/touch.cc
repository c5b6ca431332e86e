// SPDX-License-Identifier: Apache-2.0
#include "tests/fuzz/support/touch.h"

#include "base/check.h"
#include "base/index.h"
#include "tests/fuzz/support/target.h"

namespace graphd::fuzz {
namespace {

void TouchFeatures(const std::vector<RawFeature>& features, int64_t rows) {
  for (const RawFeature& feature : features) {
    const Tensor& values = feature.values;
    GRAPHD_CHECK(!values.shape().empty() && values.num_rows() == rows, "a feature has all rows");
    Touch({values.data(), values.num_bytes()});
  }
}

}  // namespace

void TouchPartition(const Partition& partition) {
  const Schema& schema = partition.meta().schema;
  const IdMap& nodes = partition.meta().book.nodes();
  const IdMap& edges = partition.meta().book.edges();
  for (const auto& segment : partition.segments()) {
    for (const ArraySpec& spec : segment->layout().arrays()) {
      const Tensor array = segment->array(spec.name);
      Touch({array.data(), array.num_bytes()});
    }
  }
  for (EdgeTypeId e = 0; e < schema.num_etypes(); e++) {
    const Csc& csc = partition.csc(e);
    for (size_t i = 0; i < csc.indices.size(); i++) {
      nodes.ToHomo(schema.src_type(e), static_cast<int64_t>(csc.indices[i]));
      const uint64_t row = csc.edge_rows ? (*csc.edge_rows)[i] : i;
      edges.ToHomo(e, edges.FromLocalRow(partition.id(), e, static_cast<int64_t>(row)));
    }
  }
}

void TouchGraph(const RawGraph& graph) {
  for (const RawNodes& nodes : graph.nodes) TouchFeatures(nodes.features, nodes.count);
  for (EdgeTypeId e = 0; e < graph.schema.num_etypes(); e++) {
    const RawEdges& edges = graph.edges[Index(e)];
    const auto sources = static_cast<uint64_t>(graph.nodes[Index(graph.schema.src_type(e))].count);
    const auto targets = static_cast<uint64_t>(graph.nodes[Index(graph.schema.dst_type(e))].count);
    edges.ForEachStored([&](size_t, uint64_t src, uint64_t dst) {
      GRAPHD_CHECK(src < sources && dst < targets, "the ends of an edge exist");
    });
    TouchFeatures(edges.features, edges.count());
  }
}

}  // namespace graphd::fuzz
