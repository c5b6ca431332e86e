// SPDX-License-Identifier: Apache-2.0
#include "format/native/write_partition.h"

#include <algorithm>
#include <cstring>
#include <utility>

#include "base/index.h"
#include "format/native/encoder.h"
#include "format/native/partition_layout.h"
#include "format/native/partition_writer.h"

namespace graphd {
namespace {

constexpr size_t kPieceBytes = size_t{1} << 20;

// The writer of one partition's files.
class PartitionFiles {
 public:
  PartitionFiles(const RawGraph& graph, const PartitionPlan& plan, const StoragePlan& storage,
                 const std::string& directory, PartId part,
                 const std::function<void(uint64_t)>& written)
      : graph_(graph),
        plan_(plan),
        storage_(storage),
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

  // Appends the values value(0) .. value(count - 1), as T, through one buffer of limited size.
  template <class T, class F>
  void AppendEach(const std::string& array, size_t count, F&& value) {
    std::vector<T> piece(std::min(count, kPieceBytes / sizeof(T)));
    for (size_t begin = 0; begin < count; begin += piece.size()) {
      const size_t size = std::min(piece.size(), count - begin);
      for (size_t i = 0; i < size; i++) piece[i] = value(begin + i);
      Append(array, std::as_bytes(std::span(piece).first(size)));
    }
  }

  // Converts elements from encoding.dtype to the form in which they are stored, and appends them.
  void AppendEncoded(const std::string& array, const Encoding& encoding,
                     std::span<const std::byte> elements) {
    Append(array, Encoded(encoding, elements, encoded_));
  }

  // Appends the original ids id(0) .. id(count - 1).
  template <class F>
  void AppendOrigIds(const std::string& array, const Encoding& encoding, size_t count, F&& id) {
    std::vector<int64_t> piece(std::min(count, kPieceBytes / sizeof(int64_t)));
    for (size_t begin = 0; begin < count; begin += piece.size()) {
      const size_t size = std::min(piece.size(), count - begin);
      for (size_t i = 0; i < size; i++) piece[i] = id(begin + i);
      AppendEncoded(array, encoding, std::as_bytes(std::span(piece).first(size)));
    }
  }

  // Appends the rows of `values` with the numbers row(0) .. row(count - 1).
  template <class F>
  void AppendRows(const std::string& array, const Encoding& encoding, const Tensor& values,
                  size_t count, F&& row) {
    const size_t bytes = values.row_bytes();
    if (bytes == 0) return;
    const size_t rows = std::max(size_t{1}, kPieceBytes / bytes);
    std::vector<std::byte> piece(std::min(count, rows) * bytes);
    for (size_t begin = 0; begin < count; begin += rows) {
      const size_t size = std::min(rows, count - begin);
      for (size_t i = 0; i < size; i++) {
        std::memcpy(piece.data() + i * bytes, values.data() + row(begin + i) * bytes, bytes);
      }
      AppendEncoded(array, encoding, std::span(piece).first(size * bytes));
    }
  }

  void WriteGraph() {
    Begin(kGraphFile, GraphLayout(*plan_.meta, part_));
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
    Begin(kNodeFeatureFile, NodeFeatureLayout(graph_, *plan_.meta, storage_, part_));
    for (NodeTypeId t = 0; t < schema_.num_ntypes(); t++) {
      const RawNodes& raw = graph_.nodes[Index(t)];
      const std::vector<int64_t> rows = OriginalIds(plan_.owners[Index(t)], part_, Nodes(t));
      for (size_t f = 0; f < raw.features.size(); f++) {
        AppendRows(Partition::NodeFeatureName(t, raw.features[f].name),
                   storage_.node_features[Index(t)][f], raw.features[f].values, rows.size(),
                   [&](size_t i) { return Index(rows[i]); });
      }
      AppendOrigIds(Partition::NodeFeatureName(t, kOrigId), storage_.node_orig_ids[Index(t)],
                    rows.size(), [&](size_t i) { return raw.OriginalId(Index(rows[i])); });
    }
    writer_.EndSegment();
  }

  void WriteEdgeFeatures() {
    Begin(kEdgeFeatureFile, EdgeFeatureLayout(graph_, *plan_.meta, storage_, part_));
    for (EdgeTypeId e = 0; e < schema_.num_etypes(); e++) {
      const RawEdges& raw = graph_.edges[Index(e)];
      plan_.edges[Index(e)].Visit([&](auto keys) {
        const auto own = keys.subspan(Index(FirstEdge(e)), Index(Edges(e)));
        for (size_t f = 0; f < raw.features.size(); f++) {
          const size_t rows = Index(raw.features[f].values.num_rows());
          AppendRows(Partition::EdgeFeatureName(e, raw.features[f].name),
                     storage_.edge_features[Index(e)][f], raw.features[f].values, own.size(),
                     [&](size_t i) { return own[i].edge() % rows; });
        }
        if (!storage_.edge_orig_id) return;
        AppendOrigIds(Partition::EdgeFeatureName(e, kOrigId), storage_.edge_orig_ids[Index(e)],
                      own.size(), [&](size_t i) { return raw.OriginalId(own[i].edge()); });
      });
    }
    writer_.EndSegment();
  }

  const RawGraph& graph_;
  const PartitionPlan& plan_;
  const StoragePlan& storage_;
  const Schema& schema_;
  PartId part_;
  NativePartitionWriter writer_;
  const std::function<void(uint64_t)>& written_;
  std::vector<std::byte> encoded_;  // a piece of an array, as it is stored
  uint64_t bytes_ = 0;
};

}  // namespace

uint64_t WritePartition(const RawGraph& graph, const PartitionPlan& plan,
                        const StoragePlan& storage, const std::string& directory, PartId part,
                        const std::function<void(uint64_t)>& written) {
  return PartitionFiles(graph, plan, storage, directory, part, written).Write();
}

}  // namespace graphd
