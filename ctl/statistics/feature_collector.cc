// SPDX-License-Identifier: Apache-2.0
#include "ctl/statistics/feature_collector.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <utility>

#include "base/index.h"
#include "base/rng.h"
#include "base/strings.h"
#include "ctl/statistics/visit_elements.h"
#include "format/io/line_reader.h"
#include "format/partition/plan.h"

namespace graphd::ctl {
namespace {

constexpr size_t kMostTextBytes = 200;

std::vector<int64_t> RowShape(const ArraySpec& array) {
  return {array.shape.begin() + 1, array.shape.end()};
}

uint64_t ElementsPerRow(const std::vector<int64_t>& row_shape) {
  uint64_t elements = 1;
  for (const int64_t extent : row_shape) elements *= static_cast<uint64_t>(extent);
  return elements;
}

// Returns the number of the interval that contains `value`, if the range from `low` to `high` is
// divided into `intervals` equal intervals.
size_t IntervalOf(double value, double low, double high, size_t intervals) {
  const double share = (value - low) / (high - low);
  return std::min(static_cast<size_t>(share * static_cast<double>(intervals)), intervals - 1);
}

}  // namespace

FeatureCollector::FeatureCollector(std::string name, const ArraySpec& array, int64_t rows,
                                   std::string labels_file)
    : labels_file_(std::move(labels_file)) {
  statistics_.name = std::move(name);
  statistics_.encoding = array.encoding;
  statistics_.row_shape = RowShape(array);
  const uint64_t per_row = ElementsPerRow(statistics_.row_shape);
  stride_ = std::max<uint64_t>(1, (Index(rows) * per_row + kSample - 1) / kSample);
  const bool whole = IsWhole(array.encoding.dtype) && statistics_.name != kOrigId;
  has_classes_ = per_row == 1 && (whole || !labels_file_.empty());
}

void FeatureCollector::Read(const StoredArray& array, const std::string& step, PieceScan& scan) {
  const ArraySpec& spec = array.spec();
  if (spec.encoding.dtype != statistics_.encoding.dtype ||
      RowShape(spec) != statistics_.row_shape) {
    Throw(ErrorCode::kCorrupt, array.At(0), " has another dtype or shape than the feature '",
          name(), "' in the partitions before; copy or partition it again");
  }
  // Each piece is summarized separately, and the summaries are added in the order of the pieces, so
  // that the sums do not depend on the number of threads.
  std::vector<ValueSummary> pieces(PieceScan::PiecesOf(array.num_elements()));
  struct Thread {
    std::vector<std::byte> buffer;
    std::vector<double> sample;
    ClassCounts classes;
  };
  std::vector<Thread> threads(scan.threads());
  scan.Run(step, array.num_elements(), DTypeSize(spec.dtype()), [&](const Piece& piece) {
    Thread& thread = threads[piece.thread];
    const auto bytes = array.Read(piece.begin, piece.end - piece.begin, thread.buffer);
    pieces[piece.index] = Summarize(spec.encoding, bytes);
    Sample(spec.encoding, bytes, before_ + piece.begin, thread.sample);
    if (has_classes_) Count(spec.encoding, bytes, thread.classes);
  });
  ValueSummary& of_part = statistics_.by_part.emplace_back();
  for (const ValueSummary& piece : pieces) of_part.Add(piece);
  statistics_.values.Add(of_part);
  for (const Thread& thread : threads) {
    sample_.insert(sample_.end(), thread.sample.begin(), thread.sample.end());
    classes_.Add(thread.classes);
  }
  before_ += array.num_elements();
}

// Adds to the sample one random element of each range of `stride_` elements. The ranges are counted
// over all partitions, one after the other.
void FeatureCollector::Sample(const Encoding& encoding, std::span<const std::byte> bytes,
                              uint64_t begin, std::vector<double>& sample) const {
  VisitElements(encoding, bytes, [&](auto elements, const auto& convert) {
    const uint64_t end = begin + elements.size();
    for (uint64_t range = begin / stride_; range * stride_ < end; range++) {
      const uint64_t chosen = range * stride_ + Mix64(range + kRngStep) % stride_;
      if (chosen < begin || chosen >= end) continue;
      const auto value = static_cast<double>(convert(elements[chosen - begin]));
      if (std::isfinite(value)) sample.push_back(value);
    }
  });
}

void FeatureCollector::Count(const Encoding& encoding, std::span<const std::byte> bytes,
                             ClassCounts& counts) const {
  // Smaller whole numbers are exact in a double.
  constexpr double kExact = 9007199254740992.0;
  VisitElements(encoding, bytes, [&](auto elements, const auto& convert) {
    for (const auto& element : elements) {
      if (counts.too_many()) return;
      const auto value = convert(element);
      if constexpr (std::is_same_v<decltype(value), const double>) {
        // A label is NaN if the input has no label for the node.
        if (std::fabs(value) < kExact && value == std::trunc(value)) {
          counts.Add(static_cast<int64_t>(value));
        }
      } else if (std::cmp_greater(value, INT64_MAX)) {
        counts.GiveUp();
      } else {
        counts.Add(static_cast<int64_t>(value));
      }
    }
  });
}

Histogram FeatureCollector::MakeHistogram() const {
  Histogram histogram;
  const ValueSummary& values = statistics_.values;
  if (!values.min || sample_.empty()) return histogram;
  histogram.low = ToDouble(*values.min);
  histogram.high = ToDouble(*values.max);
  histogram.sampled = stride_ > 1;
  size_t intervals = kIntervals;
  if (IsWhole(statistics_.encoding.dtype)) {
    // All intervals cover equally many whole numbers. If there are few numbers, each has its own
    // interval.
    const double numbers = histogram.high - histogram.low + 1;
    const double width = numbers <= 2 * kIntervals ? 1 : std::ceil(numbers / kIntervals);
    intervals = static_cast<size_t>(std::ceil(numbers / width));
    histogram.high = histogram.low + width * static_cast<double>(intervals);
  }
  const bool has_width = histogram.high > histogram.low;
  if (!has_width || !std::isfinite(histogram.high - histogram.low)) intervals = 1;
  histogram.counts.resize(intervals);
  for (const double value : sample_) {
    histogram
        .counts[intervals == 1 ? 0 : IntervalOf(value, histogram.low, histogram.high, intervals)]++;
  }
  return histogram;
}

// Adds the texts of labels to the classes. If the file of texts can't be read, the result only
// lacks the texts, because everything else comes from files that have been read already.
void FeatureCollector::AddTexts(std::vector<FeatureClass>& classes) {
  if (labels_file_.empty()) return;
  try {
    LineReader lines(labels_file_);
    int64_t label = 0;
    for (FeatureClass& of_value : classes) {
      for (; label <= of_value.value && lines.Next(); label++) {
        if (label == of_value.value) of_value.text = lines.text();
      }
      if (of_value.text) Truncate(*of_value.text, kMostTextBytes);
    }
  } catch (const Error& error) {
    statistics_.texts_problem = error.what();
    for (FeatureClass& of_value : classes) of_value.text.reset();
  }
}

std::vector<FeatureClass> FeatureCollector::MakeClasses() {
  const std::map<int64_t, uint64_t> counts = classes_.counts();
  std::vector<FeatureClass> classes;
  for (const auto& [value, count] : counts) classes.push_back({value, count, std::nullopt});
  AddTexts(classes);
  return classes;
}

FeatureStatistics FeatureCollector::Finish() && {
  statistics_.histogram = MakeHistogram();
  if (has_classes_ && !classes_.too_many()) statistics_.classes = MakeClasses();
  return std::move(statistics_);
}

}  // namespace graphd::ctl
