// SPDX-License-Identifier: Apache-2.0
#include "tests/unit/sampling/tiny_partition.h"

#include <cstring>
#include <numeric>

namespace graphd::testing {
namespace {

void Fill(SegmentWriter& writer, const std::string& name, const std::vector<uint64_t>& values,
          bool wide) {
  if (wide) {
    std::copy(values.begin(), values.end(), writer.array<uint64_t>(name).begin());
  } else {
    std::transform(values.begin(), values.end(), writer.array<uint32_t>(name).begin(),
                   [](uint64_t v) { return static_cast<uint32_t>(v); });
  }
}

}  // namespace

std::shared_ptr<const Partition> TinyGraph::Build() const {
  std::vector<uint64_t> indptr{0}, indices;
  for (const auto& row : rows) {
    indices.insert(indices.end(), row.begin(), row.end());
    indptr.push_back(indices.size());
  }
  const auto nodes = static_cast<int64_t>(rows.size());
  const auto edges = static_cast<int64_t>(indices.size());
  auto meta = std::make_shared<GraphMeta>();
  meta->graph_name = "tiny";
  meta->schema = Schema({"from", "to"}, {{"from", "edge", "to"}});
  // Homogeneous ids: partition 0 owns all "from" nodes, then some "to" nodes, and some edges.
  const int64_t first_to = num_sources + kFirstNode;
  meta->book = PartitionBook(
      IdMap::FromRanges("node", {{{0, num_sources}, {first_to, first_to}},
                                 {{num_sources, first_to}, {first_to, first_to + nodes}}}),
      IdMap::FromRanges("edge", {{{0, kFirstEdge}, {kFirstEdge, kFirstEdge + edges}}}));
  const DType ids = wide ? DType::kUInt64 : DType::kUInt32;
  SegmentLayout layout;
  layout.Add(Partition::IndptrName(0), DType::kUInt64, {nodes + 1});
  layout.Add(Partition::IndicesName(0), ids, {edges});
  if (!edge_rows.empty()) layout.Add(Partition::EdgeRowsName(0), ids, {edges});
  for (const auto& [name, tensor] : features) {
    layout.Add(Partition::EdgeFeatureName(0, name), tensor.dtype(), tensor.shape());
  }
  SegmentWriter writer("tiny", std::move(layout));
  std::copy(indptr.begin(), indptr.end(), writer.array<uint64_t>(Partition::IndptrName(0)).begin());
  Fill(writer, Partition::IndicesName(0), indices, wide);
  if (!edge_rows.empty()) Fill(writer, Partition::EdgeRowsName(0), edge_rows, wide);
  for (const auto& [name, tensor] : features) {
    const auto bytes = writer.array_bytes(Partition::EdgeFeatureName(0, name));
    if (!bytes.empty()) std::memcpy(bytes.data(), tensor.data(), bytes.size());
  }
  std::vector<std::shared_ptr<const Segment>> segments{std::move(writer).Seal()};
  auto partition = std::make_shared<const Partition>(meta, 1, std::move(segments));
  partition->Validate();
  return partition;
}

TinyGraph Star(uint64_t degree) {
  TinyGraph graph;
  graph.num_sources = static_cast<int64_t>(degree);
  graph.rows.resize(1);
  graph.rows[0].resize(degree);
  std::iota(graph.rows[0].begin(), graph.rows[0].end(), uint64_t{0});
  return graph;
}

}  // namespace graphd::testing
