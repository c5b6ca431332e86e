// SPDX-License-Identifier: Apache-2.0
#include "format/partition/cluster_nodes.h"

#include <algorithm>
#include <limits>
#include <numeric>

#include "base/rng.h"

namespace graphd {
namespace {

constexpr int kClusterPasses = 5;
constexpr uint32_t kNone = std::numeric_limits<uint32_t>::max();

class LabelPropagation {
 public:
  LabelPropagation(const NeighbourLists& lists, const NodeWeights& weights, uint64_t max_nodes,
                   uint64_t seed)
      : lists_(lists),
        weights_(weights),
        max_nodes_(max_nodes),
        seed_(seed),
        label_(lists.nodes()),
        size_(lists.nodes()),
        near_(lists.nodes(), 0) {
    std::iota(label_.begin(), label_.end(), uint32_t{0});
    for (size_t i = 0; i < size_.size(); i++) size_[i] = weights.nodes_in(i);
  }

  // Visits every node once, and moves it if that is better. Returns how many have moved.
  size_t Pass() {
    size_t moved = 0;
    for (size_t i = 0; i < label_.size(); i++) moved += Move(i);
    return moved;
  }

  // Puts nodes that are alone into clusters with others that have the same favourite cluster.
  void PutTogether() {
    std::vector<uint32_t> open(label_.size() + 1, kNone);  // by favourite: the cluster being filled
    for (size_t i = 0; i < label_.size(); i++) {
      if (label_[i] != i || size_[i] != weights_.nodes_in(i)) continue;
      const uint32_t favourite = Favourite(i, false);
      uint32_t& into = open[favourite == kNone ? label_.size() : favourite];
      if (into != kNone && into != i &&
          size_[into] + uint64_t{weights_.nodes_in(i)} <= max_nodes_) {
        Join(i, into);
      } else {
        into = static_cast<uint32_t>(i);
      }
    }
  }

  // Returns the clusters, numbered in the order of their first nodes.
  Clusters Finish() && {
    Clusters clusters;
    std::fill(near_.begin(), near_.end(), kNone);
    for (uint32_t& label : label_) {
      uint32_t& number = near_[label];
      if (number == kNone) number = static_cast<uint32_t>(clusters.count++);
      label = number;
    }
    clusters.of = std::move(label_);
    return clusters;
  }

 private:
  // Returns the cluster with most of the node's neighbours, by weight. With `with_room`, considers
  // only the node's own cluster and clusters with room for the node. Returns kNone if there is no
  // such cluster.
  uint32_t Favourite(size_t node, bool with_room) {
    const uint32_t own = label_[node];
    const uint32_t brings = weights_.nodes_in(node);
    lists_.ForEach(node, [&](uint32_t neighbour, uint32_t weight) {
      const uint32_t label = label_[neighbour];
      if (near_[label] == 0) touched_.push_back(label);
      near_[label] += std::min(weight, std::numeric_limits<uint32_t>::max() - near_[label]);
    });
    uint32_t best = kNone;
    for (uint32_t label : touched_) {
      if (with_room && label != own && size_[label] + uint64_t{brings} > max_nodes_) continue;
      if (best == kNone || near_[label] > near_[best] ||
          (near_[label] == near_[best] && Draw(node, label) < Draw(node, best))) {
        best = label;
      }
    }
    // A node stays where it is unless it gains something.
    if (with_room && best != kNone && near_[own] == near_[best] && near_[own] > 0) best = own;
    for (uint32_t label : touched_) near_[label] = 0;
    touched_.clear();
    return best;
  }

  // Returns a number that breaks ties: the cluster with the lowest wins. It differs from node to
  // node, so that no cluster attracts all nodes with ties.
  uint64_t Draw(size_t node, uint32_t label) const {
    return CombineKeys(CombineKeys(seed_, node), label);
  }

  bool Move(size_t node) {
    const uint32_t best = Favourite(node, true);
    if (best == kNone || best == label_[node]) return false;
    Join(node, best);
    return true;
  }

  void Join(size_t node, uint32_t label) {
    size_[label_[node]] -= weights_.nodes_in(node);
    size_[label] += weights_.nodes_in(node);
    label_[node] = label;
  }

  const NeighbourLists& lists_;
  const NodeWeights& weights_;
  const uint64_t max_nodes_, seed_;
  std::vector<uint32_t> label_, size_;  // [node] its cluster, named by a node; [cluster] its size
  std::vector<uint32_t> near_;          // by cluster: the current node's edges to it
  std::vector<uint32_t> touched_;       // clusters with near_ > 0
};

}  // namespace

Clusters ClusterNodes(const NeighbourLists& lists, const NodeWeights& weights, uint64_t max_nodes,
                      uint64_t seed, const std::function<void()>& pass_done) {
  LabelPropagation propagation(lists, weights, max_nodes, seed);
  for (int pass = 0; pass < kClusterPasses; pass++) {
    const size_t moved = propagation.Pass();
    pass_done();
    if (moved <= lists.nodes() / 50) break;
  }
  propagation.PutTogether();
  pass_done();
  return std::move(propagation).Finish();
}

}  // namespace graphd
