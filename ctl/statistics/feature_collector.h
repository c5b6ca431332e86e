// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <span>
#include <string>
#include <vector>

#include "ctl/statistics/class_counts.h"
#include "ctl/statistics/graph_statistics.h"
#include "ctl/statistics/piece_scan.h"
#include "ctl/statistics/stored_array.h"

namespace graphd::ctl {

// The statistics of one feature while its partitions are read. One thread at a time.
class FeatureCollector {
 public:
  // The maximum number of elements from which the histogram of a feature is made.
  static constexpr uint64_t kSample = 16384;
  static constexpr size_t kIntervals = 20;

  // `array`: the feature in the first partition. `rows`: the rows in all partitions that will be
  // read. `labels_file`: the texts of its labels, or "".
  FeatureCollector(std::string name, const ArraySpec& array, int64_t rows, std::string labels_file);

  const std::string& name() const noexcept { return statistics_.name; }
  // Reads the feature in the next partition. Throws Error(kCorrupt) if its dtype or shape differs
  // from that of the partitions before.
  void Read(const StoredArray& array, const std::string& step, PieceScan& scan);
  // Notes that the next partition has no such feature.
  void Skip() { statistics_.by_part.emplace_back(); }
  // Returns the statistics. If the file with the texts of the labels can't be read, their member
  // texts_problem has the reason.
  FeatureStatistics Finish() &&;

 private:
  void Sample(const Encoding& encoding, std::span<const std::byte> bytes, uint64_t begin,
              std::vector<double>& sample) const;
  void Count(const Encoding& encoding, std::span<const std::byte> bytes, ClassCounts& counts) const;
  Histogram MakeHistogram() const;
  void AddTexts(std::vector<FeatureClass>& classes);
  std::vector<FeatureClass> MakeClasses();

  FeatureStatistics statistics_;
  std::string labels_file_;
  bool has_classes_;
  uint64_t stride_ = 1;  // one in `stride_` elements is in the sample
  uint64_t before_ = 0;  // elements in the partitions read before
  std::vector<double> sample_;
  ClassCounts classes_;
};

}  // namespace graphd::ctl
