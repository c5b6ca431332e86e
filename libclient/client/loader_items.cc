// SPDX-License-Identifier: Apache-2.0
#include "client/loader_items.h"

#include "base/strings.h"

namespace graphd {
namespace {

size_t Index(int32_t i) { return static_cast<size_t>(i); }

std::vector<int64_t> Items(const IdMap& map, std::vector<std::vector<int64_t>> lists,
                           const char* what, const std::vector<std::string>& names) {
  if (lists.size() != names.size()) {
    Throw(ErrorCode::kInvalid, what, "s of ", lists.size(), " types, the graph has ", names.size(),
          "; give one list per ", what, " type");
  }
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

}  // namespace

std::vector<int64_t> NodeItems(const DistGraph& graph, std::vector<std::vector<int64_t>> nids) {
  return Items(graph.partition_book().nodes(), std::move(nids), "node", graph.ntypes());
}

std::vector<int64_t> EdgeItems(const DistGraph& graph, std::vector<std::vector<int64_t>> eids) {
  std::vector<std::string> names;
  for (const CanonicalEdgeType& etype : graph.canonical_etypes()) names.push_back(etype.ToString());
  return Items(graph.partition_book().edges(), std::move(eids), "edge", names);
}

std::vector<std::vector<int64_t>> ByType(const IdMap& map, std::span<const int64_t> items) {
  std::vector<std::vector<int64_t>> lists(Index(map.num_types()));
  for (int64_t item : items) {
    const auto [type, id] = map.ToTyped(item);
    lists[Index(type)].push_back(id);
  }
  return lists;
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
