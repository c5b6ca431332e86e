// SPDX-License-Identifier: Apache-2.0
#include "ctl/statistics/collect_statistics.h"

#include <algorithm>
#include <deque>
#include <utility>

#include "base/index.h"
#include "base/memory_limit.h"
#include "base/strings.h"
#include "ctl/statistics/edge_collector.h"
#include "ctl/statistics/feature_collector.h"
#include "format/label_texts.h"
#include "format/load.h"

namespace graphd::ctl {
namespace {

class Collector {
 public:
  Collector(const PartConfig& config, std::optional<PartId> part, const StepProgress& progress)
      : config_(config), meta_(*config.meta), progress_(progress) {
    FindParts(part);
    nodes_.resize(Index(meta_.schema.num_ntypes()));
    edges_.resize(Index(meta_.schema.num_etypes()));
    for (NodeTypeId t = 0; t < meta_.schema.num_ntypes(); t++) {
      statistics_.ntypes.emplace_back().name = meta_.schema.ntype(t);
      node_rows_.push_back(RowsOf(meta_.book.nodes(), t));
    }
    for (EdgeTypeId e = 0; e < meta_.schema.num_etypes(); e++) {
      statistics_.etypes.emplace_back().name = meta_.schema.etype(e).ToString();
      edge_rows_.push_back(RowsOf(meta_.book.edges(), e));
    }
  }

  GraphStatistics Collect() {
    PieceScan scan(progress_, total_);
    EdgeCollector edges(meta_, CountsDegrees(), statistics_);
    const std::string step = "reading partitions";
    for (const PartId part : statistics_.parts) {
      const PartitionArrays arrays(config_, part, progress_);
      edges.Read(part, arrays, step, scan);
      statistics_.bytes.push_back(arrays.bytes());
      ReadFeatures(arrays, step, scan);
      parts_read_++;
    }
    edges.Finish();
    Finish(nodes_, statistics_.ntypes);
    Finish(edges_, statistics_.etypes);
    scan.Finish(step);
    return std::move(statistics_);
  }

 private:
  using Features = std::deque<FeatureCollector>;

  void FindParts(std::optional<PartId> wanted) {
    const PartId parts = meta_.book.num_partitions();
    statistics_.num_parts = parts;
    if (wanted && *wanted >= parts) EstimatePartitionBytes(config_, *wanted);  // throws
    const PartId begin = wanted.value_or(0), end = wanted ? PartId(*wanted + 1) : parts;
    for (PartId p = begin; p < end; p++) {
      try {
        total_ += EstimatePartitionBytes(config_, p);
        statistics_.parts.push_back(p);
      } catch (const Error& error) {
        if (error.code() != ErrorCode::kNotFound || wanted) throw;
        statistics_.missing.push_back(p);
      }
    }
    if (!statistics_.parts.empty()) return;
    Throw(ErrorCode::kNotFound, config_.path, ": none of its ", parts,
          " partitions is on this machine; statistics are made where they are");
  }

  // Returns whether out-degrees and isolated nodes are counted.
  bool CountsDegrees() {
    if (static_cast<int32_t>(statistics_.parts.size()) != meta_.book.num_partitions()) return false;
    const uint64_t needed = EdgeCollector::MemoryForDegrees(meta_);
    if (needed <= AvailableMemory().bytes / 2) return true;
    statistics_.memory_for_degrees = needed;
    return false;
  }

  void ReadFeatures(const PartitionArrays& arrays, const std::string& step, PieceScan& scan) {
    for (NodeTypeId t = 0; t < meta_.schema.num_ntypes(); t++) {
      ReadOfType(arrays, Partition::NodeFeatureName(t, ""), meta_.schema.ntype(t),
                 node_rows_[Index(t)], nodes_[Index(t)], step, scan);
    }
    for (EdgeTypeId e = 0; e < meta_.schema.num_etypes(); e++) {
      ReadOfType(arrays, Partition::EdgeFeatureName(e, ""), meta_.schema.etype(e).ToString(),
                 edge_rows_[Index(e)], edges_[Index(e)], step, scan);
    }
  }

  // Returns the number of rows of a type in the partitions that are read.
  int64_t RowsOf(const IdMap& map, int32_t type) const {
    int64_t rows = 0;
    for (const PartId part : statistics_.parts) rows += map.count_in(part, type);
    return rows;
  }

  // Reads the features of a type: the arrays whose names begin with `prefix`. A partition of DGL
  // without rows of the type may lack a feature that other partitions have.
  void ReadOfType(const PartitionArrays& arrays, const std::string& prefix, const std::string& type,
                  int64_t rows, Features& features, const std::string& step, PieceScan& scan) {
    std::vector<std::string> found;
    for (const StoredArray* array : arrays.WithPrefix(prefix)) {
      found.push_back(array->spec().name.substr(prefix.size()));
      const std::string& name = found.back();
      auto feature = Find(features, name);
      if (feature == features.end()) {
        features.emplace_back(name, array->spec(), rows, FindLabelTexts(config_, type, name));
        feature = features.end() - 1;
        for (size_t i = 0; i < parts_read_; i++) feature->Skip();
      }
      feature->Read(*array, step, scan);
    }
    for (FeatureCollector& feature : features) {
      if (std::find(found.begin(), found.end(), feature.name()) == found.end()) feature.Skip();
    }
  }

  static Features::iterator Find(Features& features, const std::string& name) {
    return std::find_if(features.begin(), features.end(),
                        [&](const FeatureCollector& feature) { return feature.name() == name; });
  }

  template <class Types>
  static void Finish(std::vector<Features>& features, Types& types) {
    for (size_t type = 0; type < types.size(); type++) {
      for (FeatureCollector& feature : features[type]) {
        types[type].features.push_back(std::move(feature).Finish());
      }
    }
  }

  const PartConfig& config_;
  const GraphMeta& meta_;
  const StepProgress& progress_;
  GraphStatistics statistics_;
  uint64_t total_ = 0;     // bytes of all arrays
  size_t parts_read_ = 0;  // partitions before the one that is being read
  // The rows in the partitions that are read, and the features, by type.
  std::vector<int64_t> node_rows_, edge_rows_;
  std::vector<Features> nodes_, edges_;
};

}  // namespace

GraphStatistics CollectStatistics(const PartConfig& config, std::optional<PartId> part,
                                  const StepProgress& progress) {
  return Collector(config, part, progress).Collect();
}

}  // namespace graphd::ctl
