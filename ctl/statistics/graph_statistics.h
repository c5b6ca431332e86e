// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "ctl/statistics/degree_counts.h"
#include "ctl/statistics/value_summary.h"
#include "graphd/ids.h"

// The results of `graphctl inspect --statistics`, computed from the files of a partitioned graph.
// Plain values.

namespace graphd::ctl {

// The numbers of elements in intervals of equal width between two values. An interval contains its
// lower end, and the last one also its upper end.
struct Histogram {
  double low = 0, high = 0;
  std::vector<uint64_t> counts;  // empty: there are no finite elements
  bool sampled = false;          // the elements are a random sample
};

// A value of an integer feature with few distinct values, or of a feature whose labels have texts,
// and the number of elements with this value.
struct FeatureClass {
  int64_t value = 0;
  uint64_t count = 0;
  std::optional<std::string> text;  // the text of the label, truncated if it is long
};

struct FeatureStatistics {
  std::string name;
  Encoding encoding;
  std::vector<int64_t> row_shape;
  ValueSummary values;                // the values in all partitions that were read
  std::vector<ValueSummary> by_part;  // in the order of GraphStatistics::parts
  Histogram histogram;
  // The classes, ascending by value. Unset if the elements are not counted by value: for floats
  // whose labels have no texts, several numbers per row, original ids, and more than
  // ClassCounts::kMost values.
  std::optional<std::vector<FeatureClass>> classes;
  std::string texts_problem;  // the error because of which the labels' texts are missing, or ""
};

// Returns up to `most` classes, the most frequent first. Requires: the feature has classes.
std::vector<FeatureClass> MostFrequent(const FeatureStatistics& feature, size_t most);

struct NodeTypeStatistics {
  std::string name;
  int64_t nodes = 0;  // only those in partitions that were read, as in all numbers below
  std::optional<int64_t> isolated;  // nodes without an edge; unset if not all partitions were read
  std::vector<int64_t> by_part;     // nodes
  // The number, for each partition, of nodes that it does not own, but from which edges lead to its
  // nodes.
  std::vector<int64_t> halo_by_part;
  std::vector<FeatureStatistics> features;
};

struct EdgeTypeStatistics {
  std::string name;
  int64_t edges = 0;
  int64_t cut = 0;  // edges whose source another partition owns
  DegreeSummary in_degrees;
  std::optional<DegreeSummary> out_degrees;  // unset if not all partitions were read
  std::vector<int64_t> by_part, cut_by_part;
  std::vector<DegreeSummary> in_degrees_by_part;
  std::vector<FeatureStatistics> features;
};

struct GraphStatistics {
  // Up to this number of partitions, `edges_from` counts the edges of each pair of partitions.
  static constexpr int32_t kMostInMatrix = 256;

  int32_t num_parts = 0;
  std::vector<PartId> parts;    // those that were read, ascending
  std::vector<PartId> missing;  // those whose files are not on this machine
  std::vector<uint64_t> bytes;  // the size of the arrays of each of `parts`
  // The element edges_from[i][owner] is the number of edges of the partition parts[i] whose source
  // `owner` owns. Empty if there are more than kMostInMatrix partitions.
  std::vector<std::vector<int64_t>> edges_from;
  std::vector<NodeTypeStatistics> ntypes;
  std::vector<EdgeTypeStatistics> etypes;
  // The bytes of memory that counting out-degrees and isolated nodes would take, if they were left
  // out because that is too much; otherwise 0.
  uint64_t memory_for_degrees = 0;

  // Return sums over all types: for the partition parts[i], or for all partitions that were read.
  int64_t nodes_in(size_t i) const;
  int64_t edges_in(size_t i) const;
  int64_t cut_in(size_t i) const;
  int64_t halo_in(size_t i) const;
  int64_t nodes() const;
  int64_t edges() const;
  int64_t cut() const;
};

}  // namespace graphd::ctl
