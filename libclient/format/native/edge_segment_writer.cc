// SPDX-License-Identifier: Apache-2.0
#include "format/native/edge_segment_writer.h"

#include <utility>

#include "base/index.h"
#include "format/native/encoder.h"
#include "format/native/partition_layout.h"
#include "format/native/partition_writer.h"
#include "format/partition/plan.h"

namespace graphd {

namespace {
constexpr size_t kEdgeFileBuffer = size_t{256} << 10;
}

EdgeSegmentWriter::EdgeSegmentWriter(const RawGraph& graph, const GraphMeta& meta,
                                     const StoragePlan& storage, const std::string& directory,
                                     PartId part, std::function<void(uint64_t)> written)
    : graph_(graph),
      meta_(meta),
      storage_(storage),
      graph_file_(TemporarySegmentPath(directory, kGraphFile), kGraphFile, GraphLayout(meta, part),
                  kEdgeFileBuffer),
      feature_file_(TemporarySegmentPath(directory, kEdgeFeatureFile), kEdgeFeatureFile,
                    EdgeFeatureLayout(graph, meta, storage, part), kEdgeFileBuffer),
      written_(std::move(written)) {}

void EdgeSegmentWriter::BeginType(EdgeTypeId etype) {
  etype_ = etype;
  narrow_ =
      Partition::IdDType(meta_.book.nodes().count(meta_.schema.src_type(etype))) == DType::kUInt32;
  end_ = 0;
  AppendTo(graph_file_, Partition::IndptrName(etype), std::as_bytes(std::span(&end_, 1)));
}

void EdgeSegmentWriter::AppendDegrees(std::span<const uint64_t> degrees) {
  ends_.clear();
  ends_.reserve(degrees.size());
  for (const uint64_t degree : degrees) ends_.push_back(end_ += degree);
  AppendTo(graph_file_, Partition::IndptrName(etype_), std::as_bytes(std::span(ends_)));
}

void EdgeSegmentWriter::AppendSources(std::span<const uint64_t> sources) {
  std::span<const std::byte> bytes = std::as_bytes(sources);
  if (narrow_) {
    narrow_ids_.assign(sources.begin(), sources.end());
    bytes = std::as_bytes(std::span(narrow_ids_));
  }
  AppendTo(graph_file_, Partition::IndicesName(etype_), bytes);
}

void EdgeSegmentWriter::AppendFeature(size_t feature, std::span<const std::byte> stored) {
  const std::string& name = graph_.edges[Index(etype_)].features[feature].name;
  AppendTo(feature_file_, Partition::EdgeFeatureName(etype_, name), stored);
}

void EdgeSegmentWriter::AppendOrigIds(std::span<const uint64_t> ids) {
  if (!storage_.edge_orig_id) return;
  const Encoding& encoding = storage_.edge_orig_ids[Index(etype_)];
  AppendTo(feature_file_, Partition::EdgeFeatureName(etype_, kOrigId),
           Encoded(encoding, std::as_bytes(ids), encoded_));
}

std::vector<NativeSegmentInfo> EdgeSegmentWriter::Finish() {
  std::vector<NativeSegmentInfo> infos;
  infos.push_back(graph_file_.Finish());
  infos.push_back(feature_file_.Finish());
  return infos;
}

void EdgeSegmentWriter::AppendTo(SegmentFileWriter& file, const std::string& array,
                                 std::span<const std::byte> bytes) {
  file.Append(array, bytes);
  if (written_) written_(bytes.size());
}

}  // namespace graphd
