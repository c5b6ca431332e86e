// SPDX-License-Identifier: Apache-2.0
#include "format/external/edge_segments.h"

#include <cstring>
#include <span>

#include "base/index.h"
#include "format/native/encoder.h"
#include "format/native/partition_layout.h"
#include "format/native/partition_writer.h"
#include "format/partition/partition_plan.h"

namespace graphd {
namespace {

constexpr size_t kEdgeFileBuffer = size_t{256} << 10;

// The writer of the edges of one partition.
class EdgeSegments {
 public:
  EdgeSegments(const RawGraph& graph, const GraphMeta& meta, const StoragePlan& storage,
               const std::string& directory, PartId part,
               const std::function<void(uint64_t)>& written)
      : graph_(graph),
        meta_(meta),
        storage_(storage),
        part_(part),
        graph_file_(TemporarySegmentPath(directory, kGraphFile), kGraphFile,
                    GraphLayout(meta, part), kEdgeFileBuffer),
        feature_file_(TemporarySegmentPath(directory, kEdgeFeatureFile), kEdgeFeatureFile,
                      EdgeFeatureLayout(graph, meta, storage, part), kEdgeFileBuffer),
        written_(written) {}

  void Write(EdgeTypeId e, const SpilledEdges& edges) {
    columns_ = EdgeColumns(graph_, storage_, e);
    row_bytes_ = 0;
    for (const EdgeColumn& column : columns_) row_bytes_ += column.stored_bytes();
    narrow_ =
        Partition::IdDType(meta_.book.nodes().count(meta_.schema.src_type(e))) == DType::kUInt32;
    uint64_t end = 0;
    AppendTo(graph_file_, Partition::IndptrName(e), std::as_bytes(std::span(&end, 1)));
    for (const EdgeRun& run : edges.runs()) {
      if (run.part != part_) continue;
      edges.ForEachPiece(
          run,
          [&](std::span<const uint64_t> degrees) {
            std::vector<uint64_t> ends;
            ends.reserve(degrees.size());
            for (const uint64_t degree : degrees) ends.push_back(end += degree);
            AppendTo(graph_file_, Partition::IndptrName(e), std::as_bytes(std::span(ends)));
          },
          [&](const SortedPiece& piece) { WritePiece(e, piece); });
    }
  }

  std::vector<NativeSegmentInfo> Finish() {
    std::vector<NativeSegmentInfo> infos;
    infos.push_back(graph_file_.Finish());
    infos.push_back(feature_file_.Finish());
    return infos;
  }

 private:
  void AppendTo(SegmentFileWriter& file, const std::string& array,
                std::span<const std::byte> bytes) {
    file.Append(array, bytes);
    if (written_) written_(bytes.size());
  }

  void WritePiece(EdgeTypeId e, const SortedPiece& piece) {
    if (narrow_) {
      narrow_ids_.assign(piece.src.begin(), piece.src.end());
      AppendTo(graph_file_, Partition::IndicesName(e), std::as_bytes(std::span(narrow_ids_)));
    } else {
      AppendTo(graph_file_, Partition::IndicesName(e), std::as_bytes(std::span(piece.src)));
    }
    size_t offset = 0;
    for (size_t f = 0; f < columns_.size(); f++) {
      const size_t bytes = columns_[f].stored_bytes();
      column_.resize(piece.src.size() * bytes);
      for (size_t i = 0; i < piece.src.size(); i++) {
        std::memcpy(column_.data() + i * bytes, piece.rows.data() + i * row_bytes_ + offset, bytes);
      }
      offset += bytes;
      AppendTo(feature_file_,
               Partition::EdgeFeatureName(e, graph_.edges[Index(e)].features[f].name), column_);
    }
    if (!storage_.edge_orig_id) return;
    const Encoding& encoding = storage_.edge_orig_ids[Index(e)];
    column_.resize(piece.edge.size() * DTypeSize(encoding.stored));
    Encode(encoding, std::as_bytes(std::span(piece.edge)).data(), piece.edge.size(),
           column_.data());
    AppendTo(feature_file_, Partition::EdgeFeatureName(e, kOrigId), column_);
  }

  const RawGraph& graph_;
  const GraphMeta& meta_;
  const StoragePlan& storage_;
  const PartId part_;
  SegmentFileWriter graph_file_, feature_file_;
  const std::function<void(uint64_t)>& written_;
  // These belong to the current edge type.
  std::vector<EdgeColumn> columns_;
  size_t row_bytes_ = 0;
  bool narrow_ = true;
  std::vector<uint32_t> narrow_ids_;
  std::vector<std::byte> column_;
};

}  // namespace

std::vector<EdgeColumn> EdgeColumns(const RawGraph& graph, const StoragePlan& storage,
                                    EdgeTypeId etype) {
  std::vector<EdgeColumn> columns;
  const RawEdges& edges = graph.edges[Index(etype)];
  for (size_t f = 0; f < edges.features.size(); f++) {
    columns.push_back({&edges.features[f].values, storage.edge_features[Index(etype)][f]});
  }
  return columns;
}

std::vector<NativeSegmentInfo> WriteEdgeSegments(const RawGraph& graph, const GraphMeta& meta,
                                                 const std::vector<SpilledEdges>& edges,
                                                 const StoragePlan& storage,
                                                 const std::string& directory, PartId part,
                                                 const std::function<void(uint64_t)>& written) {
  EdgeSegments segments(graph, meta, storage, directory, part, written);
  for (EdgeTypeId e = 0; e < meta.schema.num_etypes(); e++) segments.Write(e, edges[Index(e)]);
  return segments.Finish();
}

}  // namespace graphd
