// SPDX-License-Identifier: Apache-2.0
#include "format/native/write_partition.h"

#include <algorithm>
#include <cstring>
#include <utility>

#include "base/index.h"
#include "format/native/partition_writer.h"

namespace graphd {
namespace {

constexpr size_t kPieceBytes = size_t{1} << 20;

// The writer of one partition's files.
class PartitionFiles {
 public:
  PartitionFiles(const RawGraph& graph, const PartitionPlan& plan, const std::string& directory,
                 PartId part, const std::function<void(uint64_t)>& written)
      : graph_(graph),
        plan_(plan),
        schema_(graph.schema),
        part_(part),
        writer_(directory, plan.meta->graph_name, part),
        written_(written) {}

  // Returns the bytes of all segments.
  uint64_t Write() {
    WriteGraph();
    WriteNodeFeatures();
    WriteEdgeFeatures();
    writer_.Finish();
    return bytes_;
  }

 private:
  int64_t Nodes(NodeTypeId t) const { return plan_.meta->book.nodes().count_in(part_, t); }
  int64_t Edges(EdgeTypeId e) const { return plan_.meta->book.edges().count_in(part_, e); }
  int64_t FirstEdge(EdgeTypeId e) const { return plan_.meta->book.edges().type_begin(part_, e); }

  void Begin(const char* file, SegmentLayout layout) {
    bytes_ += layout.total_bytes();
    writer_.BeginSegment(file, std::move(layout));
  }

  void Append(const std::string& array, std::span<const std::byte> bytes) {
    writer_.Append(array, bytes);
    if (written_) written_(bytes.size());
  }

  // Appends `count` values of T, value(i) each, through one buffer of limited size.
  template <class T, class F>
  void AppendEach(const std::string& array, size_t count, F&& value) {
    std::vector<T> piece(std::min(count, kPieceBytes / sizeof(T)));
    for (size_t begin = 0; begin < count; begin += piece.size()) {
      const size_t size = std::min(piece.size(), count - begin);
      for (size_t i = 0; i < size; i++) piece[i] = value(begin + i);
      Append(array, std::as_bytes(std::span(piece).first(size)));
    }
  }

  // Appends `count` rows of a feature, row(i) each.
  template <class F>
  void AppendRows(const std::string& array, const Tensor& values, size_t count, F&& row) {
    const size_t bytes = values.row_bytes();
    if (bytes == 0) return;
    const size_t rows = std::max(size_t{1}, kPieceBytes / bytes);
    std::vector<std::byte> piece(std::min(count, rows) * bytes);
    for (size_t begin = 0; begin < count; begin += rows) {
      const size_t size = std::min(rows, count - begin);
      for (size_t i = 0; i < size; i++) {
        std::memcpy(piece.data() + i * bytes, values.data() + row(begin + i) * bytes, bytes);
      }
      Append(array, std::span(piece).first(size * bytes));
    }
  }

  static std::vector<int64_t> RowsShape(const Tensor& values, int64_t rows) {
    std::vector<int64_t> shape = values.shape();
    shape[0] = rows;
    return shape;
  }

  void WriteGraph() {
    SegmentLayout layout;
    for (EdgeTypeId e = 0; e < schema_.num_etypes(); e++) {
      const int64_t sources = plan_.meta->book.nodes().count(schema_.src_type(e));
      layout.Add(Partition::IndptrName(e), DType::kUInt64, {Nodes(schema_.dst_type(e)) + 1});
      layout.Add(Partition::IndicesName(e), Partition::IdDType(sources), {Edges(e)});
    }
    Begin("graph.seg", std::move(layout));
    for (EdgeTypeId e = 0; e < schema_.num_etypes(); e++) {
      const NodeTypeId t = schema_.dst_type(e);
      const std::span<const uint64_t> offsets = plan_.edges[Index(e)].offsets().subspan(
          Index(plan_.nodes[Index(t)].first[Index(part_)]), Index(Nodes(t)) + 1);
      AppendEach<uint64_t>(Partition::IndptrName(e), offsets.size(),
                           [&](size_t i) { return offsets[i] - offsets[0]; });
      const bool narrow =
          Partition::IdDType(plan_.meta->book.nodes().count(schema_.src_type(e))) == DType::kUInt32;
      plan_.edges[Index(e)].Visit([&](auto keys) {
        const auto own = keys.subspan(Index(FirstEdge(e)), Index(Edges(e)));
        const std::string array = Partition::IndicesName(e);
        if (narrow) {
          AppendEach<uint32_t>(array, own.size(),
                               [&](size_t i) { return static_cast<uint32_t>(own[i].src()); });
        } else {
          AppendEach<uint64_t>(array, own.size(), [&](size_t i) { return own[i].src(); });
        }
      });
    }
    writer_.EndSegment();
  }

  void WriteNodeFeatures() {
    SegmentLayout layout;
    for (NodeTypeId t = 0; t < schema_.num_ntypes(); t++) {
      for (const RawFeature& feature : graph_.nodes[Index(t)].features) {
        layout.Add(Partition::NodeFeatureName(t, feature.name), feature.values.dtype(),
                   RowsShape(feature.values, Nodes(t)));
      }
      layout.Add(Partition::NodeFeatureName(t, kOrigId), DType::kInt64, {Nodes(t)});
    }
    Begin("node_feat.seg", std::move(layout));
    for (NodeTypeId t = 0; t < schema_.num_ntypes(); t++) {
      const std::vector<int64_t> rows = OriginalIds(plan_.owners[Index(t)], part_, Nodes(t));
      for (const RawFeature& feature : graph_.nodes[Index(t)].features) {
        AppendRows(Partition::NodeFeatureName(t, feature.name), feature.values, rows.size(),
                   [&](size_t i) { return Index(rows[i]); });
      }
      AppendEach<int64_t>(Partition::NodeFeatureName(t, kOrigId), rows.size(), [&](size_t i) {
        return graph_.nodes[Index(t)].OriginalId(Index(rows[i]));
      });
    }
    writer_.EndSegment();
  }

  void WriteEdgeFeatures() {
    SegmentLayout layout;
    for (EdgeTypeId e = 0; e < schema_.num_etypes(); e++) {
      for (const RawFeature& feature : graph_.edges[Index(e)].features) {
        layout.Add(Partition::EdgeFeatureName(e, feature.name), feature.values.dtype(),
                   RowsShape(feature.values, Edges(e)));
      }
      layout.Add(Partition::EdgeFeatureName(e, kOrigId), DType::kInt64, {Edges(e)});
    }
    Begin("edge_feat.seg", std::move(layout));
    for (EdgeTypeId e = 0; e < schema_.num_etypes(); e++) {
      const RawEdges& raw = graph_.edges[Index(e)];
      plan_.edges[Index(e)].Visit([&](auto keys) {
        const auto own = keys.subspan(Index(FirstEdge(e)), Index(Edges(e)));
        for (const RawFeature& feature : raw.features) {
          const size_t rows = Index(feature.values.num_rows());
          AppendRows(Partition::EdgeFeatureName(e, feature.name), feature.values, own.size(),
                     [&](size_t i) { return own[i].edge() % rows; });
        }
        AppendEach<int64_t>(Partition::EdgeFeatureName(e, kOrigId), own.size(),
                            [&](size_t i) { return raw.OriginalId(own[i].edge()); });
      });
    }
    writer_.EndSegment();
  }

  const RawGraph& graph_;
  const PartitionPlan& plan_;
  const Schema& schema_;
  PartId part_;
  NativePartitionWriter writer_;
  const std::function<void(uint64_t)>& written_;
  uint64_t bytes_ = 0;
};

}  // namespace

uint64_t WritePartition(const RawGraph& graph, const PartitionPlan& plan,
                        const std::string& directory, PartId part,
                        const std::function<void(uint64_t)>& written) {
  return PartitionFiles(graph, plan, directory, part, written).Write();
}

}  // namespace graphd
