// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "graph/feature_table.h"
#include "graph/segment.h"
#include "graphd/partition_book.h"
#include "graphd/schema.h"
#include "graphd/tensor.h"

// A Partition has immutable views of the arrays in the segments of a graph's partition, which
// several threads may read. The same class is used in the daemon (which has loaded the segments),
// in a trainer on the same machine (which has mapped them) and in standalone mode.
//
// Arrays, by segment:
// clang-format off
//   graph      csc/<etype id>/indptr     uint64 [inner nodes of the destination type + 1]
//              csc/<etype id>/indices    uint32 or uint64 [edges]: the source, a type-wise *global* id
//              csc/<etype id>/edge_rows  uint32 or uint64 [edges], absent when row == position: local
//                                        row of the edge (IdMap::FromLocalRow gives its id)
//   node_feat  node/<ntype id>/<name>    [inner nodes of the type, ...]: features may have an
//                                        encoding (graph/encoding.h), other arrays are plain
//   edge_feat  edge/<etype id>/<name>    [owned edges of the type, ...] by local edge row
// clang-format on
// The inner nodes of a partition are those that it owns. An edge is owned by the partition that
// owns its destination, so a partition has every in-edge of its inner nodes.

namespace graphd {

// The largest number of partitions that is read from a file or a message, because memory is
// allocated for each of them.
inline constexpr int32_t kMaxPartitions = 1 << 20;

// Metadata of the whole graph, the same on every machine.
struct GraphMeta {
  std::string graph_name;
  Schema schema;
  PartitionBook book;
  std::string part_method;  // "metis", "random", ...
  int halo_hops = 1;
};

// A view of ids that are stored in 32 or in 64 bits. For speed, a loop over ids should be within
// Visit, so that the width is tested once and not for each element:
//   ids.Visit([](auto typed_span) { ... });
class IdSpan {
 public:
  IdSpan() = default;
  explicit IdSpan(const Tensor& tensor);  // dtype uint32 or uint64, else Error(kCorrupt)
  explicit IdSpan(std::span<const uint32_t> ids) : narrow_(ids.data()), size_(ids.size()) {}
  explicit IdSpan(std::span<const uint64_t> ids) : wide_(ids.data()), size_(ids.size()) {}

  size_t size() const noexcept { return size_; }
  bool empty() const noexcept { return size_ == 0; }
  bool is_narrow() const noexcept { return wide_ == nullptr; }
  uint64_t operator[](size_t i) const noexcept { return narrow_ ? narrow_[i] : wide_[i]; }

  template <class F>
  decltype(auto) Visit(F&& f) const {
    if (is_narrow()) return f(std::span<const uint32_t>(narrow_, size_));
    return f(std::span<const uint64_t>(wide_, size_));
  }

 private:
  const uint32_t* narrow_ = nullptr;
  const uint64_t* wide_ = nullptr;
  size_t size_ = 0;
};

// The in-edges of one edge type, in compressed sparse column form: the sources of the edges into
// inner node i of the destination type are indices[indptr[i]] to indices[indptr[i + 1] - 1].
struct Csc {
  std::span<const uint64_t> indptr;  // [inner destination nodes + 1]
  IdSpan indices;                    // type-wise global source ids
  std::optional<IdSpan> edge_rows;   // absent: the edge at position i has local row i
};

// The name, dtype and row shape of a feature, as readers see it.
struct FeatureInfo {
  std::string name;
  DType dtype;
  std::vector<int64_t> row_shape;  // shape without the first extent
};

class Partition {
 public:
  // Finds all arrays in the segments, which may be in any order, and checks their names, dtypes and
  // shapes against `meta`; Validate() checks their contents. Throws Error(kCorrupt).
  Partition(std::shared_ptr<const GraphMeta> meta, PartId id,
            std::vector<std::shared_ptr<const Segment>> segments);

  const GraphMeta& meta() const noexcept { return *meta_; }
  std::shared_ptr<const GraphMeta> shared_meta() const noexcept { return meta_; }
  PartId id() const noexcept { return id_; }
  const std::vector<std::shared_ptr<const Segment>>& segments() const noexcept { return segments_; }

  const Csc& csc(EdgeTypeId etype) const { return csc_.at(static_cast<size_t>(etype)); }
  int64_t num_inner_nodes(NodeTypeId t) const { return meta_->book.nodes().count_in(id_, t); }
  int64_t num_inner_edges(EdgeTypeId e) const { return meta_->book.edges().count_in(id_, e); }

  const std::vector<FeatureInfo>& node_features(NodeTypeId t) const;
  const std::vector<FeatureInfo>& edge_features(EdgeTypeId e) const;
  // Returns the feature's rows by local row. Throws Error(kNotFound) listing the existing names.
  const FeatureTable& node_feature(NodeTypeId t, const std::string& name) const;
  const FeatureTable& edge_feature(EdgeTypeId e, const std::string& name) const;

  // Checks the contents of the arrays of each Csc: indptr starts at 0, never decreases and ends at
  // the number of edges; sources and edge rows are in range. Throws Error(kCorrupt). Sampling does
  // not check this again, so Validate runs once on every partition that was read from a file.
  void Validate() const;

  // Returns the bytes of all segments.
  uint64_t bytes() const noexcept;

  // Return the names of the arrays in the list at the top of this file.
  static std::string IndptrName(EdgeTypeId e) { return "csc/" + std::to_string(e) + "/indptr"; }
  static std::string IndicesName(EdgeTypeId e) { return "csc/" + std::to_string(e) + "/indices"; }
  static std::string EdgeRowsName(EdgeTypeId e) {
    return "csc/" + std::to_string(e) + "/edge_rows";
  }
  static std::string NodeFeatureName(NodeTypeId t, const std::string& name) {
    return "node/" + std::to_string(t) + "/" + name;
  }
  static std::string EdgeFeatureName(EdgeTypeId e, const std::string& name) {
    return "edge/" + std::to_string(e) + "/" + name;
  }
  // Returns the dtype for ids of `count` objects: uint32 if they fit, else uint64.
  static DType IdDType(int64_t count) {
    return count <= int64_t{UINT32_MAX} ? DType::kUInt32 : DType::kUInt64;
  }

 private:
  struct Features {
    std::vector<FeatureInfo> infos;
    std::vector<FeatureTable> tables;
  };
  static const FeatureTable& Find(const Features& features, const std::string& name,
                                  const std::string& what);
  void AddFeature(Features& features, const ArraySpec& spec, const std::string& name, int64_t rows,
                  const Segment& segment);

  std::shared_ptr<const GraphMeta> meta_;
  PartId id_;
  std::vector<std::shared_ptr<const Segment>> segments_;
  std::vector<Csc> csc_;
  std::vector<Features> node_features_, edge_features_;
};

}  // namespace graphd
