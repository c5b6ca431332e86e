// SPDX-License-Identifier: Apache-2.0
#include "whole_graph.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <memory>
#include <string>
#include <tuple>
#include <vector>

#include "format/load.h"
#include "format/load_part_config.h"
#include "raw_graph_samples.h"

namespace graphd::testing {
namespace {

using Parts = std::vector<std::shared_ptr<const Partition>>;

Parts LoadAll(const std::string& part_config, PartFormat format) {
  const PartConfig config = LoadPartConfig(part_config);
  EXPECT_EQ(config.format, format);
  Parts parts;
  for (PartId p = 0; p < config.meta->book.num_partitions(); p++) {
    parts.push_back(LoadPartition(config, p));
    const uint64_t estimate = EstimatePartitionBytes(config, p);
    if (format == PartFormat::kNative) {
      EXPECT_EQ(parts.back()->bytes(), estimate);
    } else {
      EXPECT_LE(parts.back()->bytes(), estimate);  // sorted edges need no rows
    }
  }
  return parts;
}

// A tuple of original edge id, original source, original destination and weight.
using EdgeRow = std::tuple<int64_t, int64_t, int64_t, float>;

// Returns the original id of every new id of a node type, after checking that the ids are a
// permutation and the features are right.
std::vector<int64_t> OriginalNodes(const Parts& parts, NodeTypeId t, const RawNodes& raw) {
  std::vector<int64_t> original;
  for (const auto& part : parts) {
    const Tensor all_ids = part->node_feature(t, kOrigId).ReadAll();
    const Tensor all_feat = part->node_feature(t, "feat").ReadAll();
    const Tensor all_labels = part->node_feature(t, "label").ReadAll();
    const auto ids = all_ids.as<int64_t>(), label = all_labels.as<int64_t>();
    const auto feat = all_feat.as<float>();
    EXPECT_TRUE(std::is_sorted(ids.begin(), ids.end()));
    for (size_t i = 0; i < ids.size(); i++) {
      EXPECT_EQ(feat[3 * i + 2], FeatValue(static_cast<uint64_t>(ids[i]), 2));
      EXPECT_EQ(label[i], ids[i] % 7);
    }
    original.insert(original.end(), ids.begin(), ids.end());
  }
  std::vector<int64_t> sorted = original;
  std::sort(sorted.begin(), sorted.end());
  EXPECT_EQ(sorted.size(), static_cast<size_t>(raw.count));
  for (size_t i = 0; i < sorted.size(); i++) EXPECT_EQ(sorted[i], static_cast<int64_t>(i));
  return original;
}

std::vector<EdgeRow> EdgesIn(const Parts& parts, EdgeTypeId e,
                             const std::vector<std::vector<int64_t>>& original) {
  const Schema& schema = parts[0]->meta().schema;
  const IdMap& nodes = parts[0]->meta().book.nodes();
  std::vector<EdgeRow> rows;
  for (const auto& part : parts) {
    const Csc& csc = part->csc(e);
    EXPECT_FALSE(csc.edge_rows.has_value());
    const Tensor all_ids = part->edge_feature(e, kOrigId).ReadAll();
    const Tensor all_weights = part->edge_feature(e, "weight").ReadAll();
    const auto ids = all_ids.as<int64_t>();
    const auto weight = all_weights.as<float>();
    for (size_t v = 0; v + 1 < csc.indptr.size(); v++) {
      const auto row = static_cast<int64_t>(v);
      const int64_t dst = nodes.FromLocalRow(part->id(), schema.dst_type(e), row);
      for (uint64_t i = csc.indptr[v]; i < csc.indptr[v + 1]; i++) {
        if (i > csc.indptr[v]) {
          EXPECT_LE(csc.indices[i - 1], csc.indices[i]);
        }
        const auto src_type = static_cast<size_t>(schema.src_type(e));
        const auto dst_type = static_cast<size_t>(schema.dst_type(e));
        rows.emplace_back(ids[i], original[src_type][csc.indices[i]],
                          original[dst_type][static_cast<size_t>(dst)], weight[i]);
      }
    }
  }
  std::sort(rows.begin(), rows.end());
  return rows;
}

std::vector<EdgeRow> EdgesOf(const RawEdges& raw) {
  std::vector<EdgeRow> rows;
  const auto stored = static_cast<size_t>(raw.stored());
  raw.ForEach([&](size_t id, uint64_t u, uint64_t v) {
    rows.emplace_back(id, u, v, WeightValue(id % stored));
  });
  return rows;
}

}  // namespace

void ExpectWholeGraph(const RawGraph& graph, const PartitionSummary& summary, PartFormat format) {
  const Parts parts = LoadAll(summary.part_config, format);
  std::vector<std::vector<int64_t>> original;
  for (NodeTypeId t = 0; t < graph.schema.num_ntypes(); t++) {
    original.push_back(OriginalNodes(parts, t, graph.nodes[static_cast<size_t>(t)]));
  }
  int64_t cut = 0;
  for (EdgeTypeId e = 0; e < graph.schema.num_etypes(); e++) {
    EXPECT_EQ(EdgesIn(parts, e, original), EdgesOf(graph.edges[static_cast<size_t>(e)]));
    for (const auto& part : parts) {
      const IdSpan& sources = part->csc(e).indices;
      for (size_t i = 0; i < sources.size(); i++) {
        cut += part->meta().book.nodes().Owner(graph.schema.src_type(e),
                                               static_cast<int64_t>(sources[i])) != part->id();
      }
    }
  }
  EXPECT_EQ(cut, summary.edge_cut);
}

}  // namespace graphd::testing
