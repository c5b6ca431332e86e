// SPDX-License-Identifier: Apache-2.0
#include "format/external/edge_segments.h"

#include <cstring>
#include <span>

#include "base/index.h"
#include "format/native/edge_segment_writer.h"

namespace graphd {
namespace {

// Appends sorted edges, whose features are in rows of `row_bytes`, column by column.
void AppendPiece(const SortedPiece& piece, const std::vector<EdgeColumn>& columns, size_t row_bytes,
                 std::vector<std::byte>& scratch, EdgeSegmentWriter& writer) {
  writer.AppendSources(piece.src);
  size_t offset = 0;
  for (size_t f = 0; f < columns.size(); f++) {
    const size_t bytes = columns[f].stored_bytes();
    scratch.resize(piece.src.size() * bytes);
    for (size_t i = 0; i < piece.src.size(); i++) {
      std::memcpy(scratch.data() + i * bytes, piece.rows.data() + i * row_bytes + offset, bytes);
    }
    offset += bytes;
    writer.AppendFeature(f, scratch);
  }
  writer.AppendOrigIds(piece.edge);
}

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
  EdgeSegmentWriter writer(graph, meta, storage, directory, part, written);
  std::vector<std::byte> scratch;
  for (EdgeTypeId e = 0; e < meta.schema.num_etypes(); e++) {
    const std::vector<EdgeColumn> columns = EdgeColumns(graph, storage, e);
    size_t row_bytes = 0;
    for (const EdgeColumn& column : columns) row_bytes += column.stored_bytes();
    writer.BeginType(e);
    for (const EdgeRun& run : edges[Index(e)].runs()) {
      if (run.part != part) continue;
      edges[Index(e)].ForEachPiece(
          run, [&](std::span<const uint64_t> degrees) { writer.AppendDegrees(degrees); },
          [&](const SortedPiece& piece) {
            AppendPiece(piece, columns, row_bytes, scratch, writer);
          });
    }
  }
  return writer.Finish();
}

}  // namespace graphd
