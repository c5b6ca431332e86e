// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <cmath>
#include <limits>
#include <set>
#include <span>
#include <utility>

#include "format/partition/assign_nodes.h"
#include "format/partition/balance_targets.h"
#include "format/partition/neighbours.h"
#include "format/partition/node_sequence.h"

namespace graphd {
namespace {

constexpr int kMaxPasses = 10;
constexpr size_t kNoPart = std::numeric_limits<size_t>::max();

// The load of each partition and its limits.
class Loads {
 public:
  Loads(const BalanceTargets& targets, size_t nodes, size_t parts)
      : targets_(targets),
        parts_(parts),
        nodes_(parts, 0),
        edges_(parts, 0),
        class_nodes_(targets.classes.size() * parts, 0),
        class_room_(targets.classes.size(), 0) {
    for (size_t i = 0; i < nodes; i++) class_room_[targets.ClassOf(i)]++;
    for (uint64_t& room : class_room_) room = PartitionRoom(room, parts);
    if (!targets.in_degrees.empty()) {
      uint64_t edges = 0;
      class_edges_.assign(class_nodes_.size(), 0);
      edge_room_.assign(class_room_.size(), 0);
      for (size_t i = 0; i < nodes; i++) {
        edge_room_[targets.ClassOf(i)] += targets.in_degrees[i];
        edges += targets.in_degrees[i];
      }
      for (uint64_t& room : edge_room_) room = PartitionRoom(room, parts);
      if (edges) nodes_per_edge_ = static_cast<double>(nodes) / static_cast<double>(edges);
    }
    for (size_t p = 0; p < parts; p++) by_nodes_.emplace(0, p);
    if (nodes_per_edge_ > 0) by_edges_ = by_nodes_;
  }

  // Returns the partition's size, as a number of nodes, from the point of view of a node. If edges
  // are not balanced, it is the number of the partition's nodes. Otherwise, it is a weighted
  // average of that number and of the number of the partition's edges, converted to nodes by
  // nodes_per_edge_. The weights are what the node itself would add to each of the two.
  double Size(size_t node, size_t part) const {
    const auto nodes = static_cast<double>(nodes_[part]);
    if (nodes_per_edge_ == 0) return nodes;
    const double brings = nodes_per_edge_ * targets_.in_degrees[node];
    return (nodes + brings * nodes_per_edge_ * static_cast<double>(edges_[part])) / (1 + brings);
  }
  // Calls f(partition) for all partitions, those with few nodes first, until it returns true.
  template <class F>
  void ByNodes(F&& f) const {
    for (const auto& [count, part] : by_nodes_) {
      if (f(part)) return;
    }
  }
  // Calls f in the same way, partitions with few edges first. Calls it for no partition unless
  // edges are balanced.
  template <class F>
  void ByEdges(F&& f) const {
    for (const auto& [count, part] : by_edges_) {
      if (f(part)) return;
    }
  }

  bool HasRoomForNode(size_t node, size_t part) const {
    const size_t c = targets_.ClassOf(node);
    return class_nodes_[c * parts_ + part] < class_room_[c];
  }
  // Returns whether the partition has room for the node's edges. A node may exceed the room by its
  // own edges, so that hubs find a place. Nodes with fewer edges than the average may go anywhere:
  // only nodes with more are kept out of a full partition.
  bool HasRoomForEdges(size_t node, size_t part) const {
    if (nodes_per_edge_ * (class_edges_.empty() ? 0 : targets_.in_degrees[node]) < 1) return true;
    return ClassEdges(node, part) < edge_room_[targets_.ClassOf(node)];
  }
  // Returns how many in-edges the partition's nodes of the same class have. Requires that edges are
  // balanced.
  uint64_t ClassEdges(size_t node, size_t part) const {
    return class_edges_[targets_.ClassOf(node) * parts_ + part];
  }

  void Add(size_t node, size_t part) { Change(node, part, 1); }
  void Remove(size_t node, size_t part) { Change(node, part, -1); }

 private:
  void Change(size_t node, size_t part, int sign) {
    const auto by = static_cast<uint64_t>(int64_t{sign});  // modulo 2^64
    const size_t at = targets_.ClassOf(node) * parts_ + part;
    by_nodes_.erase({nodes_[part], part});
    nodes_[part] += by;
    by_nodes_.emplace(nodes_[part], part);
    class_nodes_[at] += by;
    if (nodes_per_edge_ == 0 || targets_.in_degrees[node] == 0) return;
    by_edges_.erase({edges_[part], part});
    edges_[part] += by * targets_.in_degrees[node];
    by_edges_.emplace(edges_[part], part);
    class_edges_[at] += by * targets_.in_degrees[node];
  }

  const BalanceTargets& targets_;
  size_t parts_;
  std::vector<uint64_t> nodes_, edges_;              // by partition
  std::vector<uint64_t> class_nodes_, class_edges_;  // by class, then partition
  std::vector<uint64_t> class_room_, edge_room_;     // by class
  double nodes_per_edge_ = 0;                        // 0: edges are not balanced
  std::set<std::pair<uint64_t, size_t>> by_nodes_, by_edges_;
};

// Assigns the nodes in the order of their ids, each to the partition with the best score: the
// number of its neighbours there, reduced by a penalty for the partition's size. Later passes move
// every node again, knowing all of its neighbours ("restreaming", Nishimura and Ugander, KDD 2013):
// after about ten passes the cut is close to METIS's, while one pass, in an arbitrary order, is
// hardly better than chance.
template <class Id>
class Streamer {
 public:
  Streamer(const RawGraph& graph, const AssignOptions& options)
      : sequence_(graph),
        targets_(FindBalanceTargets(graph, options)),
        neighbours_(graph, sequence_, options.spill, options.spill_memory),
        loads_(targets_, sequence_.size(), static_cast<size_t>(options.num_parts)),
        fennel_(options.method == PartMethod::kFennel),
        owner_(sequence_.size(), kNowhere),
        near_(static_cast<size_t>(options.num_parts), 0) {
    const auto parts = static_cast<double>(options.num_parts);
    const auto nodes = static_cast<double>(std::max(sequence_.size(), size_t{1}));
    capacity_ = kMaxImbalance * nodes / parts;
    // This is Fennel's alpha times gamma (1.5): the derivative of alpha * size^1.5 is penalty_ *
    // sqrt(size).
    const double edges = static_cast<double>(neighbours_.total()) / 2;
    penalty_ = 1.5 * std::sqrt(parts) * edges / std::pow(nodes, 1.5);
  }

  NodeOwners Run(const StepProgress& progress) {
    for (int pass = 0; pass < kMaxPasses; pass++) {
      if (progress)
        progress("assigning nodes to partitions", static_cast<uint64_t>(pass), kMaxPasses);
      size_t moved = 0;
      for (size_t i = 0; i < owner_.size(); i++) moved += Place(i);
      if (moved <= owner_.size() / 1000) break;
    }
    if (progress) progress("assigning nodes to partitions", kMaxPasses, kMaxPasses);
    return sequence_.SplitByType(owner_);
  }

 private:
  static constexpr PartId kNowhere = -1;

  double Score(size_t node, size_t part) const {
    const double size = loads_.Size(node, part);
    if (fennel_) return near_[part] - penalty_ * std::sqrt(size);
    return near_[part] * (1 - size / capacity_);
  }

  // Returns the best partition with room for the node and its edges: one of those with neighbours
  // of the node, or one of the smallest.
  size_t Best(size_t node) const {
    size_t best = kNoPart;
    double best_score = 0;
    const auto consider = [&](size_t part) {
      if (!loads_.HasRoomForNode(node, part)) return false;
      if (!loads_.HasRoomForEdges(node, part)) return false;
      const double score = Score(node, part);
      if (best == kNoPart || score > best_score ||
          (score == best_score && loads_.Size(node, part) < loads_.Size(node, best))) {
        best = part;
        best_score = score;
      }
      return true;
    };
    for (size_t part : touched_) consider(part);
    loads_.ByNodes(consider);
    loads_.ByEdges(consider);
    return best == kNoPart ? FewestEdges(node) : best;
  }

  // Returns the partition with the fewest edges among those with room for the node. Room for the
  // node always exists, but not always for its edges as well.
  size_t FewestEdges(size_t node) const {
    size_t best = kNoPart;
    for (size_t part = 0; part < near_.size(); part++) {
      if (!loads_.HasRoomForNode(node, part)) continue;
      if (best == kNoPart || loads_.ClassEdges(node, part) < loads_.ClassEdges(node, best)) {
        best = part;
      }
    }
    return best;
  }

  // Returns whether the node's owner changed.
  bool Place(size_t node) {
    const PartId before = owner_[node];
    if (before != kNowhere) loads_.Remove(node, static_cast<size_t>(before));
    for (Id neighbour : neighbours_.of(node)) {
      if (owner_[neighbour] == kNowhere) continue;
      const auto part = static_cast<size_t>(owner_[neighbour]);
      if (near_[part]++ == 0) touched_.push_back(part);
    }
    const size_t best = Best(node);
    for (size_t part : touched_) near_[part] = 0;
    touched_.clear();
    loads_.Add(node, best);
    owner_[node] = static_cast<PartId>(best);
    return owner_[node] != before;
  }

  const NodeSequence sequence_;
  const BalanceTargets targets_;
  const Neighbours<Id> neighbours_;
  Loads loads_;
  const bool fennel_;
  std::vector<PartId> owner_;
  std::vector<uint32_t> near_;   // by partition: neighbours of the current node
  std::vector<size_t> touched_;  // partitions with near_ > 0
  double capacity_ = 0, penalty_ = 0;
};

}  // namespace

NodeOwners AssignByStream(const RawGraph& graph, const AssignOptions& options,
                          const StepProgress& progress) {
  const size_t nodes = NodeSequence(graph).size();
  if (nodes <= std::numeric_limits<uint32_t>::max()) {
    return Streamer<uint32_t>(graph, options).Run(progress);
  }
  return Streamer<uint64_t>(graph, options).Run(progress);
}

}  // namespace graphd
