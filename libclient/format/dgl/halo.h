// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <cstdint>
#include <span>
#include <vector>

#include "format/dgl/ranked_id_set.h"
#include "format/partition/plan.h"

// What DGL stores of a partition: the nodes and edges that it owns, and around them a halo, so that
// a graph of `num_hops` in-directions around each owned node is there.
//
//   halo nodes  1 hop: the sources of owned edges, and the destinations of edges that leave the
//               partition. Each further hop: the sources of the in-edges of the nodes that the hop
//               before has added through in-edges.
//   edges       owned: the in-edges of owned nodes. Not owned: all edges from owned to halo nodes,
//               and all in-edges of the halo nodes that in-edges reach in fewer than num_hops hops.
//
// Local node ids are the owned nodes by homogeneous id, then the halo nodes by homogeneous id;
// local edge ids likewise. Nothing of it is stored but two bits per node of the graph: edges are
// found anew in the plan on each walk.

namespace graphd {

class DglHalo {
 public:
  struct Edge {
    int64_t src;      // new type-wise id
    int64_t dst, id;  // homogeneous
    int64_t local_id;
    EdgeTypeId type;
  };

  // Reads every edge of the graph once, and the in-edges of halo nodes once per hop. The plan must
  // outlive it. Requires: num_hops >= 0, and >= 1 if edges are cut.
  DglHalo(const PartitionPlan& plan, PartId part, int num_hops);

  PartId part() const noexcept { return part_; }
  const GraphMeta& meta() const noexcept { return *plan_.meta; }
  int64_t num_owned_nodes() const noexcept { return last_node_ - first_node_; }
  int64_t num_nodes() const noexcept { return num_owned_nodes() + halo_.size(); }
  int64_t num_owned_edges() const noexcept { return num_owned_edges_; }
  int64_t num_edges() const noexcept { return num_edges_; }

  // Local ids of the ends of an edge that is here.
  int64_t LocalSrc(const Edge& edge) const {
    return LocalNode(ToHomo(schema_.src_type(edge.type), edge.src));
  }
  int64_t LocalDst(const Edge& edge) const { return LocalNode(edge.dst); }

  // f(homogeneous id, type, owner) of each node by local id.
  template <class F>
  void ForEachNode(F&& f) const;
  // f(Edge) of each edge by local id.
  template <class F>
  void ForEachEdge(F&& f) const;
  // The same edges by the local id of their destination, then by their own; end_of_row() follows
  // the last of each destination, also of one that has none.
  template <class F, class G>
  void ForEachRow(F&& f, G&& end_of_row) const;

 private:
  // The nodes of one type that a partition owns.
  struct NodeRange {
    int64_t first_new, first_homo, size;
  };
  NodeRange Nodes(PartId part, NodeTypeId type) const;
  // Homogeneous id of the node of a type that has the new id `id`.
  int64_t ToHomo(NodeTypeId type, int64_t id) const;
  int64_t LocalNode(int64_t homo) const {
    const bool owned = homo >= first_node_ && homo < last_node_;
    return owned ? homo - first_node_ : num_owned_nodes() + halo_.Rank(homo);
  }
  bool OwnsSrc(const Edge& edge) const {
    const NodeRange& own = own_[static_cast<size_t>(schema_.src_type(edge.type))];
    return edge.src >= own.first_new && edge.src - own.first_new < own.size;
  }
  // f(Edge without local id) of the in-edges of type e of a node that `owner` owns.
  template <class F>
  void ForEachInEdge(EdgeTypeId e, PartId owner, int64_t dst_new, int64_t dst_homo, F&& f) const;
  // f(homogeneous id, new id) of the nodes of a type that `owner` owns and that are here.
  template <class F>
  void ForEachNodeOf(PartId owner, NodeTypeId type, F&& f) const;
  // The same edges as ForEachInEdge, but only those that are here, with their local ids: next++.
  template <class F>
  void ForEachInEdgeHere(EdgeTypeId e, PartId owner, int64_t dst_new, int64_t dst_homo,
                         int64_t& next, F&& f) const;
  template <class F>
  void ForEachPart(F&& f) const;  // this partition first

  void AddSources(int num_hops);
  void AddDestinations();

  const PartitionPlan& plan_;
  const Schema& schema_;
  const PartitionBook& book_;
  PartId part_;
  std::vector<NodeRange> own_;  // by NodeTypeId
  int64_t first_node_ = 0, last_node_ = 0;
  RankedIdSet halo_;      // by homogeneous id
  RankedIdSet expanded_;  // those of them whose in-edges are all here
  int64_t num_owned_edges_ = 0, num_edges_ = 0;
  std::vector<std::vector<int64_t>> first_edge_;  // [owner][edge type]: local id of the first here
};

template <class F>
void DglHalo::ForEachInEdge(EdgeTypeId e, PartId owner, int64_t dst_new, int64_t dst_homo,
                            F&& f) const {
  const SortedEdges& sorted = plan_.edges[static_cast<size_t>(e)];
  const std::span<const uint64_t> offsets = sorted.offsets();
  const auto row = static_cast<size_t>(dst_new);
  const IdMap& map = book_.edges();
  const int64_t base = map.ranges()[static_cast<size_t>(e)][static_cast<size_t>(owner)].begin -
                       map.type_begin(owner, e);
  sorted.Visit([&](auto keys) {
    for (uint64_t i = offsets[row]; i < offsets[row + 1]; i++) {
      f(Edge{static_cast<int64_t>(keys[i].src()), dst_homo, base + static_cast<int64_t>(i), 0, e});
    }
  });
}

template <class F>
void DglHalo::ForEachInEdgeHere(EdgeTypeId e, PartId owner, int64_t dst_new, int64_t dst_homo,
                                int64_t& next, F&& f) const {
  const bool all = owner == part_ || expanded_.Contains(dst_homo);
  ForEachInEdge(e, owner, dst_new, dst_homo, [&](Edge edge) {
    if (!all && !OwnsSrc(edge)) return;
    edge.local_id = next++;
    f(edge);
  });
}

template <class F>
void DglHalo::ForEachNodeOf(PartId owner, NodeTypeId type, F&& f) const {
  const NodeRange range = Nodes(owner, type);
  for (int64_t i = 0; i < range.size; i++) {
    const int64_t homo = range.first_homo + i;
    if (owner == part_ || halo_.Contains(homo)) f(homo, range.first_new + i);
  }
}

template <class F>
void DglHalo::ForEachPart(F&& f) const {
  f(part_);
  for (PartId p = 0; p < book_.num_partitions(); p++) {
    if (p != part_) f(p);
  }
}

template <class F>
void DglHalo::ForEachNode(F&& f) const {
  ForEachPart([&](PartId owner) {
    for (NodeTypeId t = 0; t < schema_.num_ntypes(); t++) {
      ForEachNodeOf(owner, t, [&](int64_t homo, int64_t) { f(homo, t, owner); });
    }
  });
}

template <class F>
void DglHalo::ForEachEdge(F&& f) const {
  int64_t next = 0;
  ForEachPart([&](PartId owner) {
    for (EdgeTypeId e = 0; e < schema_.num_etypes(); e++) {
      ForEachNodeOf(owner, schema_.dst_type(e), [&](int64_t homo, int64_t id) {
        ForEachInEdgeHere(e, owner, id, homo, next, f);
      });
    }
  });
}

template <class F, class G>
void DglHalo::ForEachRow(F&& f, G&& end_of_row) const {
  ForEachPart([&](PartId owner) {
    // Destinations ascend among the edges of one type, so a counter per type tells local ids.
    std::vector<int64_t> next = first_edge_[static_cast<size_t>(owner)];
    for (NodeTypeId t = 0; t < schema_.num_ntypes(); t++) {
      ForEachNodeOf(owner, t, [&](int64_t homo, int64_t id) {
        for (EdgeTypeId e = 0; e < schema_.num_etypes(); e++) {
          if (schema_.dst_type(e) != t) continue;
          ForEachInEdgeHere(e, owner, id, homo, next[static_cast<size_t>(e)], f);
        }
        end_of_row();
      });
    }
  });
}

}  // namespace graphd
