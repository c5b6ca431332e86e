// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <cstdint>
#include <span>
#include <vector>

#include "graphd/data_loader.h"

namespace graphd {

// The items of a data loader: nodes or edges of several types, with optional times. An item is a
// homogeneous id, which implies its type; with times it is a position instead, because an id may be
// listed several times.
class LoaderItems {
 public:
  // Makes items from lists by type, one list after another, with the times of `options`. Throws
  // Error(kInvalid) if the number of lists differs from the number of types, if an id is out of
  // range, or if the number of times differs from the number of ids.
  static LoaderItems OfNodes(const DistGraph& graph, std::vector<std::vector<int64_t>> nids,
                             const LoaderOptions& options);
  static LoaderItems OfEdges(const DistGraph& graph, std::vector<std::vector<int64_t>> eids,
                             const LoaderOptions& options);

  bool has_times() const noexcept { return !times_.empty() || !real_times_.empty(); }
  // Returns the dataset that a loader cuts into batches. May be called once.
  std::vector<int64_t> TakeDataset();

  // Lists by type, with the given times.
  struct ByType {
    std::vector<std::vector<int64_t>> ids, times;
    std::vector<std::vector<double>> real_times;
  };
  ByType Of(std::span<const int64_t> items) const;

 private:
  LoaderItems(const IdMap& map, std::vector<std::vector<int64_t>> lists, const char* what,
              const std::vector<std::string>& names, const LoaderOptions& options);

  const IdMap* map_;
  std::vector<int64_t> ids_;    // homogeneous ids
  std::vector<int64_t> times_;  // one time per id, or empty
  std::vector<double> real_times_;
};

// Throws Error(kInvalid) if a sampler dropped seeds that had times, because it does not support a
// node at two times.
void CheckAllSeedsKept(const std::vector<std::vector<int64_t>>& given,
                       const std::vector<std::vector<int64_t>>& kept);

// Returns one list per type. The list of `type` is `ids`, and the others are empty. Throws
// Error(kInvalid) if `type` is not in 0..types-1; `what` is "node" or "edge".
std::vector<std::vector<int64_t>> OfOneType(std::vector<int64_t> ids, int32_t type, int32_t types,
                                            const char* what);

}  // namespace graphd
