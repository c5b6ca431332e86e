// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <vector>

#include "client/link/feature_ref.h"
#include "graph/encoding.h"
#include "graphd/partition_book.h"

namespace graphd {

// The encodings in which a daemon can send rows of its partitions' features. Partitions may store a
// feature differently.
class RowEncodings {
 public:
  void Add(PartId part, FeatureRef feature, const Encoding& encoding) {
    all_.push_back({part, std::move(feature), encoding});
  }
  bool empty() const noexcept { return all_.empty(); }
  // Returns a plain encoding for a feature that was not added.
  Encoding Find(PartId part, const FeatureRef& feature) const noexcept {
    for (const Entry& entry : all_) {
      if (entry.part == part && entry.feature == feature) return entry.encoding;
    }
    return {};
  }

 private:
  struct Entry {
    PartId part;
    FeatureRef feature;
    Encoding encoding;
  };
  std::vector<Entry> all_;
};

}  // namespace graphd
