// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <cstdint>
#include <functional>
#include <span>
#include <string>
#include <vector>

#include "format/input/raw_graph.h"
#include "format/native/header.h"
#include "format/native/segment_file_writer.h"
#include "format/native/storage_plan.h"
#include "graph/partition.h"

namespace graphd {

// The writer of graph.seg and edge_feat.seg of one partition, under their temporary names
// (partition_writer.h). The edges come in the order of their new ids, in pieces, one edge type
// after the other. Memory holds a buffer for each array of the current type. Not thread-safe.
// Throws Error if a write fails. Requires: each array gets as many elements as it has in
// GraphLayout and EdgeFeatureLayout.
class EdgeSegmentWriter {
 public:
  // `graph` describes the features, and needs no rows. The objects that are passed by reference
  // must outlive the writer. Calls `written`, unless it is empty, with the bytes of each piece.
  EdgeSegmentWriter(const RawGraph& graph, const GraphMeta& meta, const StoragePlan& storage,
                    const std::string& directory, PartId part,
                    std::function<void(uint64_t)> written);

  // Begins the next edge type, by ascending id. Everything that is appended until the next call
  // belongs to this type.
  void BeginType(EdgeTypeId etype);
  // Appends the in-degrees of the next nodes.
  void AppendDegrees(std::span<const uint64_t> degrees);
  // Appends the sources of the next edges, as new ids.
  void AppendSources(std::span<const uint64_t> sources);
  // Appends the next rows of a feature, in the form in which they are stored.
  void AppendFeature(size_t feature, std::span<const std::byte> stored);
  // Appends the original ids of the next edges, unless the storage plan leaves them out.
  void AppendOrigIds(std::span<const uint64_t> ids);

  // Returns the header's entries of the two files.
  std::vector<NativeSegmentInfo> Finish();

 private:
  void AppendTo(SegmentFileWriter& file, const std::string& array,
                std::span<const std::byte> bytes);

  const RawGraph& graph_;
  const GraphMeta& meta_;
  const StoragePlan& storage_;
  SegmentFileWriter graph_file_, feature_file_;
  const std::function<void(uint64_t)> written_;
  // These belong to the current edge type.
  EdgeTypeId etype_ = 0;
  bool narrow_ = true;
  uint64_t end_ = 0;  // edges of the nodes so far
  std::vector<uint64_t> ends_;
  std::vector<uint32_t> narrow_ids_;
  std::vector<std::byte> encoded_;
};

}  // namespace graphd
