// SPDX-License-Identifier: Apache-2.0
#include "format/dgl/halo.h"

#include <algorithm>
#include <utility>

#include "base/index.h"

namespace graphd {

DglHalo::DglHalo(const PartitionPlan& plan, PartId part, int num_hops)
    : plan_(plan),
      schema_(plan.meta->schema),
      book_(plan.meta->book),
      part_(part),
      halo_(book_.nodes().total()),
      expanded_(book_.nodes().total()) {
  for (NodeTypeId t = 0; t < schema_.num_ntypes(); t++) own_.push_back(Nodes(part, t));
  first_node_ = own_.front().first_homo;
  last_node_ = first_node_ + book_.nodes().count_in(part);
  AddSources(num_hops);
  AddDestinations();
  halo_.Count();
}

DglHalo::NodeRange DglHalo::Nodes(PartId part, NodeTypeId type) const {
  const IdMap::Range& range = book_.nodes().ranges()[Index(type)][Index(part)];
  return {plan_.nodes[Index(type)].first[Index(part)], range.begin, range.size()};
}

int64_t DglHalo::ToHomo(NodeTypeId type, int64_t id) const {
  const std::vector<int64_t>& first = plan_.nodes[Index(type)].first;
  const auto next = std::upper_bound(first.begin(), first.end(), id);
  const auto owner = static_cast<size_t>(next - first.begin() - 1);
  return book_.nodes().ranges()[Index(type)][owner].begin + (id - first[owner]);
}

// Adds the halo nodes that are reached by following in-edges backwards from owned nodes, in up to
// num_hops hops.
void DglHalo::AddSources(int num_hops) {
  std::vector<int64_t> added;
  int hop = 1;
  const auto add = [&](const Edge& edge) {
    if (OwnsSrc(edge)) return;
    const int64_t src = ToHomo(schema_.src_type(edge.type), edge.src);
    if (halo_.Insert(src) && hop < num_hops) added.push_back(src);
  };
  for (EdgeTypeId e = 0; e < schema_.num_etypes(); e++) {
    ForEachNodeOf(part_, schema_.dst_type(e),
                  [&](int64_t homo, int64_t id) { ForEachInEdge(e, part_, id, homo, add); });
  }
  for (hop = 2; !added.empty(); hop++) {
    for (int64_t homo : std::exchange(added, {})) {
      expanded_.Insert(homo);
      const auto [type, id] = book_.nodes().ToTyped(homo);
      for (EdgeTypeId e = 0; e < schema_.num_etypes(); e++) {
        if (schema_.dst_type(e) != type) continue;
        ForEachInEdge(e, book_.nodes().OwnerOfHomo(homo), id, homo, add);
      }
    }
  }
}

// Adds the halo nodes that owned nodes have edges to; counts the edges that are stored, too.
void DglHalo::AddDestinations() {
  first_edge_.resize(Index(book_.num_partitions()));
  num_owned_edges_ = book_.edges().count_in(part_);
  ForEachPart([&](PartId owner) {
    for (EdgeTypeId e = 0; e < schema_.num_etypes(); e++) {
      first_edge_[Index(owner)].push_back(num_edges_);
      if (owner == part_) {
        num_edges_ += book_.edges().count_in(part_, e);
        continue;
      }
      const NodeRange range = Nodes(owner, schema_.dst_type(e));
      for (int64_t i = 0; i < range.size; i++) {
        const int64_t homo = range.first_homo + i;
        ForEachInEdgeHere(e, owner, range.first_new + i, homo, num_edges_,
                          [&](const Edge&) { halo_.Insert(homo); });
      }
    }
  });
}

}  // namespace graphd
