// SPDX-License-Identifier: Apache-2.0
#include "client/loaders/loader_items.h"

#include <numeric>

#include "base/index.h"
#include "base/strings.h"

namespace graphd {
namespace {

// Returns the homogeneous ids of lists by type, one list after another.
std::vector<int64_t> Homogeneous(const IdMap& map, std::vector<std::vector<int64_t>> lists,
                                 const char* what, const std::vector<std::string>& names) {
  std::vector<int64_t> items;
  for (int32_t t = 0; t < map.num_types(); t++) {
    const int64_t count = map.count(t);
    for (int64_t id : lists[Index(t)]) {
      if (id < 0 || id >= count) {
        Throw(ErrorCode::kInvalid, what, " ", id, " of type '", names[Index(t)], "' is outside 0..",
              count - 1);
      }
    }
    if (map.num_types() == 1) return std::move(lists[0]);
    items.reserve(items.size() + lists[Index(t)].size());
    for (int64_t id : lists[Index(t)]) items.push_back(map.ToHomo(t, id));
  }
  return items;
}

// Returns the times of lists by type, one list after another.
template <class T>
std::vector<T> Times(const std::vector<std::vector<T>>& times,
                     const std::vector<std::vector<int64_t>>& lists, const char* what,
                     const std::vector<std::string>& names) {
  if (times.size() > lists.size()) {
    Throw(ErrorCode::kInvalid, "times of ", times.size(), " ", what, " types, the graph has ",
          lists.size());
  }
  std::vector<T> all;
  for (size_t t = 0; t < lists.size() && !times.empty(); t++) {
    const size_t count = t < times.size() ? times[t].size() : 0;
    if (count != lists[t].size()) {
      Throw(ErrorCode::kInvalid, count, " times for ", lists[t].size(), " ", what, "s of type '",
            names[t], "'");
    }
    if (count > 0) all.insert(all.end(), times[t].begin(), times[t].end());
  }
  return all;
}

}  // namespace

LoaderItems::LoaderItems(const IdMap& map, std::vector<std::vector<int64_t>> lists,
                         const char* what, const std::vector<std::string>& names,
                         const LoaderOptions& options)
    : map_(&map) {
  if (lists.size() != names.size()) {
    Throw(ErrorCode::kInvalid, what, "s of ", lists.size(), " types, the graph has ", names.size(),
          "; give one list per ", what, " type");
  }
  times_ = Times(options.seed_times, lists, what, names);
  real_times_ = Times(options.seed_real_times, lists, what, names);
  ids_ = Homogeneous(map, std::move(lists), what, names);
}

LoaderItems LoaderItems::OfNodes(const DistGraph& graph, std::vector<std::vector<int64_t>> nids,
                                 const LoaderOptions& options) {
  return LoaderItems(graph.partition_book().nodes(), std::move(nids), "node", graph.ntypes(),
                     options);
}

LoaderItems LoaderItems::OfEdges(const DistGraph& graph, std::vector<std::vector<int64_t>> eids,
                                 const LoaderOptions& options) {
  std::vector<std::string> names;
  for (const CanonicalEdgeType& etype : graph.canonical_etypes()) names.push_back(etype.ToString());
  return LoaderItems(graph.partition_book().edges(), std::move(eids), "edge", names, options);
}

std::vector<int64_t> LoaderItems::TakeDataset() {
  if (!has_times()) return std::move(ids_);
  std::vector<int64_t> positions(ids_.size());
  std::iota(positions.begin(), positions.end(), 0);
  return positions;
}

LoaderItems::ByType LoaderItems::Of(std::span<const int64_t> items) const {
  ByType lists;
  const size_t types = Index(map_->num_types());
  lists.ids.resize(types);
  lists.times.resize(times_.empty() ? 0 : types);
  lists.real_times.resize(real_times_.empty() ? 0 : types);
  for (int64_t item : items) {
    const auto at = static_cast<size_t>(item);
    const auto [type, id] = map_->ToTyped(has_times() ? ids_[at] : item);
    lists.ids[Index(type)].push_back(id);
    if (!times_.empty()) lists.times[Index(type)].push_back(times_[at]);
    if (!real_times_.empty()) lists.real_times[Index(type)].push_back(real_times_[at]);
  }
  return lists;
}

void CheckAllSeedsKept(const std::vector<std::vector<int64_t>>& given,
                       const std::vector<std::vector<int64_t>>& kept) {
  for (size_t t = 0; t < given.size(); t++) {
    const size_t count = t < kept.size() ? kept[t].size() : 0;
    if (count == given[t].size()) continue;
    Throw(ErrorCode::kInvalid, "the sampler kept ", count, " of ", given[t].size(),
          " seeds with times; use a sampler with a tree for each seed, such as TemporalSampler");
  }
}

std::vector<std::vector<int64_t>> OfOneType(std::vector<int64_t> ids, int32_t type, int32_t types,
                                            const char* what) {
  if (type < 0 || type >= types) {
    Throw(ErrorCode::kInvalid, what, " type ", type, " is outside 0..", types - 1);
  }
  std::vector<std::vector<int64_t>> by_type(Index(types));
  by_type[Index(type)] = std::move(ids);
  return by_type;
}

}  // namespace graphd
