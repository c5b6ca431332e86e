// SPDX-License-Identifier: Apache-2.0
#include "ctl/statistics/graph_statistics.h"

#include <algorithm>

namespace graphd::ctl {
namespace {

// Returns the sum of f(type) over all elements of `types`.
template <class Types, class F>
int64_t Sum(const Types& types, F&& f) {
  int64_t sum = 0;
  for (const auto& type : types) sum += f(type);
  return sum;
}

}  // namespace

std::vector<FeatureClass> MostFrequent(const FeatureStatistics& feature, size_t most) {
  std::vector<FeatureClass> classes = *feature.classes;
  std::stable_sort(classes.begin(), classes.end(),
                   [](const FeatureClass& a, const FeatureClass& b) { return a.count > b.count; });
  classes.resize(std::min(classes.size(), most));
  return classes;
}

int64_t GraphStatistics::nodes_in(size_t i) const {
  return Sum(ntypes, [i](const NodeTypeStatistics& type) { return type.by_part[i]; });
}

int64_t GraphStatistics::edges_in(size_t i) const {
  return Sum(etypes, [i](const EdgeTypeStatistics& type) { return type.by_part[i]; });
}

int64_t GraphStatistics::cut_in(size_t i) const {
  return Sum(etypes, [i](const EdgeTypeStatistics& type) { return type.cut_by_part[i]; });
}

int64_t GraphStatistics::halo_in(size_t i) const {
  return Sum(ntypes, [i](const NodeTypeStatistics& type) { return type.halo_by_part[i]; });
}

int64_t GraphStatistics::nodes() const {
  return Sum(ntypes, [](const NodeTypeStatistics& type) { return type.nodes; });
}

int64_t GraphStatistics::edges() const {
  return Sum(etypes, [](const EdgeTypeStatistics& type) { return type.edges; });
}

int64_t GraphStatistics::cut() const {
  return Sum(etypes, [](const EdgeTypeStatistics& type) { return type.cut; });
}

}  // namespace graphd::ctl
