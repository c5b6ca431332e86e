// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <cstdint>
#include <span>
#include <vector>

#include "format/dgl/ranked_id_set.h"
#include "format/partition/plan.h"

// The nodes and edges that DGL stores for a partition: those that it owns, and a halo around them,
// which contains the in-neighbourhood of `num_hops` hops of each owned node.
//
//   halo nodes  1 hop: the sources of owned edges, and the destinations of edges that leave the
//               partition. Each further hop: the sources of the in-edges of the nodes that the hop
//               before has added through in-edges.
//   edges       owned: the in-edges of owned nodes. Not owned: all edges from owned to halo nodes,
//               and all in-edges of the halo nodes that in-edges reach in fewer than num_hops hops.
//
// Local node ids number the owned nodes by homogeneous id, then the halo nodes by homogeneous id;
// local edge ids likewise. This object takes only three bits per node of the graph. It stores no
// edges: each pass over them searches the plan for them again.

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
  // outlive this object. Requires: num_hops >= 0, and >= 1 if edges are cut.
  DglHalo(const PartitionPlan& plan, PartId part, int num_hops);

  PartId part() const noexcept { return part_; }
  const GraphMeta& meta() const noexcept { return *plan_.meta; }
  int64_t num_owned_nodes() const noexcept { return last_node_ - first_node_; }
  int64_t num_nodes() const noexcept { return num_owned_nodes() + halo_.size(); }
  int64_t num_owned_edges() const noexcept { return num_owned_edges_; }
  int64_t num_edges() const noexcept { return num_edges_; }

  // Return the local ids of the ends of a stored edge.
  int64_t LocalSrc(const Edge& edge) const {
    return LocalNode(ToHomo(schema_.src_type(edge.type), edge.src));
  }
  int64_t LocalDst(const Edge& edge) const { return LocalNode(edge.dst); }

  // Calls f(homogeneous id, type, owner) for each node by local id.
  template <class F>
  void ForEachNode(F&& f) const;
  // Calls f(Edge) for each edge by local id.
  template <class F>
  void ForEachEdge(F&& f) const;
  // Calls f(Edge) for each edge, ordered by the local id of the destination and then by the local
  // id of the edge, and end_of_row() once for each destination, after its edges if it has any.
  template <class F, class G>
  void ForEachRow(F&& f, G&& end_of_row) const;

 private:
  // The nodes of one type that a partition owns.
  struct NodeRange {
    int64_t first_new, first_homo, size;
  };
  NodeRange Nodes(PartId part, NodeTypeId type) const;
  // Returns the homogeneous id of the node of `type` with the new id `id`.
  int64_t ToHomo(NodeTypeId type, int64_t id) const;
  int64_t LocalNode(int64_t homo) const {
    const bool owned = homo >= first_node_ && homo < last_node_;
    return owned ? homo - first_node_ : num_owned_nodes() + halo_.Rank(homo);
  }
  bool OwnsSrc(const Edge& edge) const {
    const NodeRange& own = own_[static_cast<size_t>(schema_.src_type(edge.type))];
    return edge.src >= own.first_new && edge.src - own.first_new < own.size;
  }
  // Calls f(Edge without local id) for the in-edges of type e of a node that `owner` owns.
  template <class F>
  void ForEachInEdge(EdgeTypeId e, PartId owner, int64_t dst_new, int64_t dst_homo, F&& f) const;
  // Calls f(homogeneous id, new id) for the stored nodes of a type that `owner` owns.
  template <class F>
  void ForEachNodeOf(PartId owner, NodeTypeId type, F&& f) const;
  // Does the same as ForEachInEdge for the stored edges only. `next` is the local id of the next
  // edge.
  template <class F>
  void ForEachInEdgeHere(EdgeTypeId e, PartId owner, int64_t dst_new, int64_t dst_homo,
                         int64_t& next, F&& f) const;
  template <class F>
  void ForEachPart(F&& f) const;  // visits this partition first

  void AddSources(int num_hops);
  void AddDestinations();

  const PartitionPlan& plan_;
  const Schema& schema_;
  const PartitionBook& book_;
  PartId part_;
  std::vector<NodeRange> own_;  // by NodeTypeId
  int64_t first_node_ = 0, last_node_ = 0;
  RankedIdSet halo_;      // by homogeneous id
  RankedIdSet expanded_;  // halo nodes all of whose in-edges are stored
  int64_t num_owned_edges_ = 0, num_edges_ = 0;
  std::vector<std::vector<int64_t>> first_edge_;  // [owner][edge type]: first stored local id
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
    // The edges of each type are visited by ascending destination, as their local ids ascend. So
    // one counter for each type gives the local ids.
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
