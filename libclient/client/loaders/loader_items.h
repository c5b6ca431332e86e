// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <cstdint>
#include <span>
#include <vector>

#include "graphd/data_loader.h"

namespace graphd {

// Nodes or edges of several types as items of one dataset, and when each asks, if that is told. An
// item is a homogeneous id, which carries its type; with times it is a position, since an id may
// come several times.
class LoaderItems {
 public:
  // Of lists by type, one after another, with the times of `options`. Throws Error(kInvalid) on a
  // number of lists that is not that of the types, on ids out of range, and on times that are not
  // as many as the ids.
  static LoaderItems OfNodes(const DistGraph& graph, std::vector<std::vector<int64_t>> nids,
                             const LoaderOptions& options);
  static LoaderItems OfEdges(const DistGraph& graph, std::vector<std::vector<int64_t>> eids,
                             const LoaderOptions& options);

  bool has_times() const noexcept { return !times_.empty() || !real_times_.empty(); }
  // What a loader cuts into batches; to be called once.
  std::vector<int64_t> TakeDataset();

  // Lists by type again, with the times that were told.
  struct ByType {
    std::vector<std::vector<int64_t>> ids, times;
    std::vector<std::vector<double>> real_times;
  };
  ByType Of(std::span<const int64_t> items) const;

 private:
  LoaderItems(const IdMap& map, std::vector<std::vector<int64_t>> lists, const char* what,
              const std::vector<std::string>& names, const LoaderOptions& options);

  const IdMap* map_;
  std::vector<int64_t> ids_;    // homogeneous
  std::vector<int64_t> times_;  // of each, or none
  std::vector<double> real_times_;
};

// Throws Error(kInvalid) if a sampler that was given times left seeds out, because it has no use
// for a node at two times.
void CheckAllSeedsKept(const std::vector<std::vector<int64_t>>& given,
                       const std::vector<std::vector<int64_t>>& kept);

// Lists by type of which only one is given. Throws Error(kInvalid) if `type` is none of `types`;
// `what` is "node" or "edge".
std::vector<std::vector<int64_t>> OfOneType(std::vector<int64_t> ids, int32_t type, int32_t types,
                                            const char* what);

}  // namespace graphd
