// SPDX-License-Identifier: Apache-2.0
#include "format/gather_partitions.h"

#include <algorithm>
#include <cstring>
#include <optional>

#include "base/index.h"
#include "base/strings.h"
#include "format/label_texts.h"
#include "format/load.h"
#include "format/node_names.h"
#include "format/partition/plan.h"
#include "graph/type_ids.h"

namespace graphd {
namespace {

// The type-wise ids of the objects of one type that a partition owns, by local row.
class OwnedIds {
 public:
  OwnedIds(const TypeIds& of, PartId part) {
    if (of.map().is_range()) {
      first_ = of.map().type_begin(part, of.type());
    } else {
      ids_ = of.map().IdsOf(part, of.type());
    }
  }
  size_t operator[](size_t row) const {
    return ids_.empty() ? Index(first_) + row : Index(ids_[row]);
  }

 private:
  int64_t first_ = 0;
  std::vector<int64_t> ids_;
};

// The features of one type while their rows are collected.
class FeatureRows {
 public:
  explicit FeatureRows(int64_t count) : count_(count) {}

  void Add(const FeatureInfo& info, const FeatureTable& table, const OwnedIds& ids,
           const std::string& where) {
    Column& column = ColumnOf(info);
    if (column.info.dtype != info.dtype || column.info.row_shape != info.row_shape) {
      Throw(ErrorCode::kCorrupt, where, ": feature '", info.name,
            "' has another dtype or shape than in the partitions before");
    }
    const Tensor rows = table.ReadAll();
    const size_t bytes = column.values.row_bytes();
    for (size_t row = 0; row < Index(rows.num_rows()); row++) {
      std::memcpy(column.values.data() + ids[row] * bytes, rows.data() + row * bytes, bytes);
    }
    column.filled += rows.num_rows();
  }

  void Finish(const std::string& where, std::vector<RawFeature>& features,
              std::optional<Tensor>& orig_id) && {
    for (Column& column : columns_) {
      if (column.filled != count_) {
        Throw(ErrorCode::kCorrupt, where, ": feature '", column.info.name, "' exists for ",
              column.filled, " of ", count_, " rows; a partition lacks it");
      }
      const bool original = column.info.name == kOrigId && column.info.dtype == DType::kInt64 &&
                            column.info.row_shape.empty();
      if (original) {
        orig_id = std::move(column.values);
      } else {
        features.push_back({column.info.name, std::move(column.values)});
      }
    }
  }

 private:
  struct Column {
    FeatureInfo info;
    Tensor values;
    int64_t filled = 0;
  };
  Column& ColumnOf(const FeatureInfo& info) {
    for (Column& column : columns_) {
      if (column.info.name == info.name) return column;
    }
    std::vector<int64_t> shape{count_};
    shape.insert(shape.end(), info.row_shape.begin(), info.row_shape.end());
    return columns_.emplace_back(Column{info, Tensor::Empty(info.dtype, std::move(shape)), 0});
  }
  int64_t count_;
  std::vector<Column> columns_;
};

template <class Id>
void PlaceEdges(const Csc& csc, const OwnedIds& nodes, const OwnedIds& edges, RawEdges& raw) {
  const std::span<Id> src = raw.src.as<Id>(), dst = raw.dst.as<Id>();
  for (size_t v = 0; v + 1 < csc.indptr.size(); v++) {
    for (uint64_t i = csc.indptr[v]; i < csc.indptr[v + 1]; i++) {
      const size_t edge = edges[csc.edge_rows ? (*csc.edge_rows)[i] : i];
      src[edge] = static_cast<Id>(csc.indices[i]);
      dst[edge] = static_cast<Id>(nodes[v]);
    }
  }
}

class Gatherer {
 public:
  Gatherer(const PartConfig& config, const StepProgress& progress)
      : config_(config), progress_(progress), schema_(config.meta->schema) {}

  RawGraph Read() {
    // Compare the part config's sizes with the files before allocating by them.
    for (PartId p = 0; p < book().num_partitions(); p++) {
      total_ += EstimatePartitionBytes(config_, p);
    }
    Allocate();
    for (PartId p = 0; p < book().num_partitions(); p++) Add(p);
    const std::vector<std::string> names = FindNodeNames(config_);
    for (size_t t = 0; t < graph_.nodes.size(); t++) {
      RawNodes& nodes = graph_.nodes[t];
      std::move(node_rows_[t]).Finish(config_.path, nodes.features, nodes.orig_id);
      // Without orig_id, the lines of the names file can't be assigned to nodes.
      if (nodes.orig_id) nodes.names_file = names[t];
      FindLabels(schema_.ntype(NodeTypeId(static_cast<int32_t>(t))), nodes.features);
    }
    for (size_t e = 0; e < graph_.edges.size(); e++) {
      RawEdges& edges = graph_.edges[e];
      std::move(edge_rows_[e]).Finish(config_.path, edges.features, edges.orig_id);
      FindLabels(schema_.etype(EdgeTypeId(static_cast<int32_t>(e))).ToString(), edges.features);
    }
    return std::move(graph_);
  }

 private:
  const PartitionBook& book() const { return config_.meta->book; }

  void FindLabels(const std::string& type, std::vector<RawFeature>& features) const {
    for (RawFeature& feature : features) {
      feature.labels_file = FindLabelTexts(config_, type, feature.name);
    }
  }

  void Allocate() {
    graph_.schema = schema_;
    for (NodeTypeId t = 0; t < schema_.num_ntypes(); t++) {
      graph_.nodes.emplace_back().count = book().nodes().count(t);
      node_rows_.emplace_back(book().nodes().count(t));
    }
    for (EdgeTypeId e = 0; e < schema_.num_etypes(); e++) {
      const DType ids = Partition::IdDType(std::max(book().nodes().count(schema_.src_type(e)),
                                                    book().nodes().count(schema_.dst_type(e))));
      RawEdges& edges = graph_.edges.emplace_back();
      edges.src = Tensor::Empty(ids, {book().edges().count(e)});
      edges.dst = Tensor::Empty(ids, {book().edges().count(e)});
      edge_rows_.emplace_back(book().edges().count(e));
    }
  }

  void Add(PartId part) {
    LoadOptions options;
    const uint64_t before = done_;
    options.progress = [&](uint64_t done, uint64_t) {
      done_ = std::min(before + done, total_ ? total_ - 1 : 0);
      if (progress_) progress_("reading partitions", done_, total_);
    };
    const auto partition = LoadPartition(config_, part, options);
    const std::string where = StrCat(config_.path, ": partition ", part);
    for (NodeTypeId t = 0; t < schema_.num_ntypes(); t++) {
      const OwnedIds ids({book().nodes(), t}, part);
      for (const FeatureInfo& info : partition->node_features(t)) {
        node_rows_[Index(t)].Add(info, partition->node_feature(t, info.name), ids, where);
      }
    }
    for (EdgeTypeId e = 0; e < schema_.num_etypes(); e++) {
      const OwnedIds nodes({book().nodes(), schema_.dst_type(e)}, part);
      const OwnedIds edges({book().edges(), e}, part);
      RawEdges& raw = graph_.edges[Index(e)];
      if (raw.src.dtype() == DType::kUInt32) {
        PlaceEdges<uint32_t>(partition->csc(e), nodes, edges, raw);
      } else {
        PlaceEdges<uint64_t>(partition->csc(e), nodes, edges, raw);
      }
      for (const FeatureInfo& info : partition->edge_features(e)) {
        edge_rows_[Index(e)].Add(info, partition->edge_feature(e, info.name), edges, where);
      }
    }
    if (progress_ && part + 1 == book().num_partitions()) {
      progress_("reading partitions", total_, total_);
    }
  }

  const PartConfig& config_;
  const StepProgress& progress_;
  const Schema& schema_;
  RawGraph graph_;
  std::vector<FeatureRows> node_rows_, edge_rows_;
  uint64_t done_ = 0, total_ = 0;
};

}  // namespace

RawGraph GatherPartitions(const PartConfig& config, const StepProgress& progress) {
  return Gatherer(config, progress).Read();
}

}  // namespace graphd
