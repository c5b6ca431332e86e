// SPDX-License-Identifier: Apache-2.0
#include "format/partition/refine_parts.h"

#include <algorithm>
#include <numeric>
#include <span>
#include <tuple>

#include "base/index.h"
#include "format/partition/part_loads.h"

namespace graphd {
namespace {

constexpr int kPricePasses = 8;
constexpr int kPriceChanges = 64;  // in each pass
// While a partition holds twice its share, its price rises by this fraction of a node's average
// number of neighbours at each change. The fraction shrinks from pass to pass, so that prices
// settle.
constexpr double kFirstGain = 0.3, kGainDecay = 0.6;
// A price falls while its partition holds less than this many shares.
constexpr double kFreeShare = 1.01;
// A node that has more neighbours in another partition than in its own may move there although that
// partition then exceeds its share, by at most this fraction of the share. Its price then makes
// other nodes leave. The fraction shrinks from pass to pass.
constexpr double kFirstGrowth = 1, kGrowthDecay = 0.6;
constexpr size_t kCheapest = 16;  // the cheapest partitions, which every node considers

// The weights of one node's edges to each partition.
class NearParts {
 public:
  explicit NearParts(size_t parts) : weight_(parts, 0) {}

  void Count(const NeighbourLists& lists, size_t node, const std::vector<PartId>& owner) {
    for (size_t part : touched_) weight_[part] = 0;
    touched_.clear();
    lists.ForEach(node, [&](uint32_t neighbour, uint32_t weight) {
      const size_t part = Index(owner[neighbour]);
      if (weight_[part] == 0) touched_.push_back(part);
      weight_[part] += weight;
    });
  }

  uint64_t operator[](size_t part) const { return weight_[part]; }
  // Returns the partitions to which the node has edges.
  std::span<const size_t> parts() const noexcept { return touched_; }

 private:
  std::vector<uint64_t> weight_;  // by partition
  std::vector<size_t> touched_;
};

// The price of a unit of each quantity in each partition.
class Prices {
 public:
  // `ends` is the number of all edges, in both directions.
  Prices(const PartLoads& loads, uint64_t ends) : loads_(loads) {
    for (uint64_t sum : loads.sums()) {
      unit_.push_back(static_cast<double>(ends) / static_cast<double>(std::max<uint64_t>(sum, 1)));
    }
    prices_.assign(loads.parts() * loads.quantities(), 0);
    cheapest_.resize(loads.quantities(), std::vector<size_t>(loads.parts()));
    for (size_t quantity = 0; quantity < cheapest_.size(); quantity++) {
      std::iota(cheapest_[quantity].begin(), cheapest_[quantity].end(), size_t{0});
      Sort(quantity);
    }
  }

  void Adapt(double gain) {
    for (size_t i = 0; i < prices_.size(); i++) {
      const size_t quantity = i % loads_.quantities();
      const double excess = loads_.Shares(i / loads_.quantities(), quantity) - kFreeShare;
      prices_[i] = std::max(0.0, prices_[i] + gain * unit_[quantity] * excess);
    }
    for (size_t quantity = 0; quantity < cheapest_.size(); quantity++) Sort(quantity);
  }

  // Returns the partitions with the lowest prices for the node, the cheapest first. There are
  // enough of them that one is likely to take the node.
  std::span<const size_t> Cheapest(const NodeWeights& weights, size_t node) const {
    std::span<const size_t> parts;
    weights.ForEach(node, [&](size_t quantity, uint64_t) { parts = cheapest_[quantity]; });
    return parts.first(std::min(parts.size(), kCheapest));
  }

  double Of(const NodeWeights& weights, size_t node, size_t part) const {
    double price = 0;
    weights.ForEach(node, [&](size_t quantity, uint64_t weight) {
      price += prices_[part * loads_.quantities() + quantity] * static_cast<double>(weight);
    });
    return price;
  }

 private:
  void Sort(size_t quantity) {
    const auto key = [&](size_t part) {
      return std::tuple(prices_[part * loads_.quantities() + quantity],
                        loads_.Shares(part, quantity), part);
    };
    std::sort(cheapest_[quantity].begin(), cheapest_[quantity].end(),
              [&](size_t a, size_t b) { return key(a) < key(b); });
  }

  const PartLoads& loads_;
  std::vector<double> unit_;                   // by quantity: neighbours per unit of it
  std::vector<double> prices_;                 // by partition, then quantity
  std::vector<std::vector<size_t>> cheapest_;  // by quantity: partitions by price, then by load
};

class Refiner {
 public:
  Refiner(const NeighbourLists& lists, const NodeWeights& weights, size_t parts,
          std::vector<PartId>& owner)
      : lists_(lists),
        weights_(weights),
        owner_(owner),
        loads_(weights, parts, owner),
        near_(parts) {}

  const PartLoads& loads() const noexcept { return loads_; }

  // Passes over all nodes once. Returns how many have moved.
  size_t PassAtPrices(Prices& prices, double gain, double most_shares) {
    const size_t step = std::max<size_t>(owner_.size() / kPriceChanges, 1);
    size_t moved = 0;
    for (size_t i = 0; i < owner_.size(); i++) {
      near_.Count(lists_, i, owner_);
      moved += Move(i, BestAtPrices(i, prices, most_shares));
      if (i % step == step - 1) prices.Adapt(gain);
    }
    return moved;
  }
  size_t PassWithinRoom() {
    size_t moved = 0;
    for (size_t i = 0; i < owner_.size(); i++) {
      near_.Count(lists_, i, owner_);
      moved += Move(i, BestWithinRoom(i));
    }
    return moved;
  }

 private:
  // Returns the best partition for a node whose neighbours have been counted, or the node's own
  // partition if the node should stay. A node that would gain no neighbours, and moves only because
  // the price of its own partition is high, may not let another partition exceed its share:
  // otherwise nodes with few neighbours would move for ever.
  size_t BestAtPrices(size_t node, const Prices& prices, double most_shares) const {
    const size_t own = Index(owner_[node]);
    const auto score = [&](size_t part) {
      return static_cast<double>(near_[part]) - prices.Of(weights_, node, part);
    };
    size_t best = own;
    double best_score = score(own);
    const auto consider = [&](size_t part) {
      const double of_part = score(part);
      if (of_part <= best_score) return false;
      const double most = near_[part] > near_[own] ? most_shares : 1;
      if (!loads_.FitsShares(node, part, most)) return false;
      best = part;
      best_score = of_part;
      return true;
    };
    for (size_t part : near_.parts()) consider(part);
    // The first partition that takes the node is the best one without neighbours of the node.
    for (size_t part : prices.Cheapest(weights_, node)) {
      if (consider(part)) break;
    }
    return best;
  }

  // Returns the best partition with room, or the node's own. Room for nodes matters more than room
  // for edges.
  size_t BestWithinRoom(size_t node) const {
    using Of = PartLoads::Of;
    const size_t own = Index(owner_[node]);
    size_t best = BestWithRoomOf(node, Of::kAll, loads_.ExceedsRoom(node, own, Of::kAll));
    if (best == own && loads_.ExceedsRoom(node, own, Of::kNodes)) {
      best = BestWithRoomOf(node, Of::kNodes, true);
    }
    return best;
  }

  size_t BestWithRoomOf(size_t node, PartLoads::Of of, bool must_leave) const {
    const size_t own = Index(owner_[node]);
    size_t best = own;
    const auto consider = [&](size_t part) {
      if (part == own || !loads_.HasRoom(node, own, part, of)) return;
      if (!must_leave && near_[part] <= near_[own]) return;
      if (best == own || near_[part] > near_[best] ||
          (near_[part] == near_[best] &&
           loads_.Fullness(node, part) < loads_.Fullness(node, best))) {
        best = part;
      }
    };
    for (size_t part : near_.parts()) consider(part);
    if (must_leave && best == own) {
      for (size_t part = 0; part < loads_.parts(); part++) consider(part);
    }
    return best;
  }

  bool Move(size_t node, size_t to) {
    const auto part = static_cast<PartId>(to);
    if (part == owner_[node]) return false;
    loads_.Move(node, owner_[node], part);
    owner_[node] = part;
    return true;
  }

  const NeighbourLists& lists_;
  const NodeWeights& weights_;
  std::vector<PartId>& owner_;
  PartLoads loads_;
  NearParts near_;
};

bool FewMoved(size_t moved, size_t nodes) { return moved <= nodes / 1000; }

}  // namespace

void RefineByPrices(const NeighbourLists& lists, const NodeWeights& weights, size_t parts,
                    std::vector<PartId>& owner, const std::function<void()>& pass_done) {
  Refiner refiner(lists, weights, parts, owner);
  Prices prices(refiner.loads(), lists.ids.size());
  double gain = kFirstGain, growth = kFirstGrowth;
  for (int pass = 0; pass < kPricePasses; pass++) {
    const size_t moved = refiner.PassAtPrices(prices, gain, std::max(1 + growth, kMaxImbalance));
    gain *= kGainDecay;
    growth *= kGrowthDecay;
    pass_done();
    if (FewMoved(moved, owner.size())) break;
  }
}

void RefineWithinRoom(const NeighbourLists& lists, const NodeWeights& weights, size_t parts,
                      int max_passes, std::vector<PartId>& owner,
                      const std::function<void()>& pass_done) {
  Refiner refiner(lists, weights, parts, owner);
  for (int pass = 0; pass < max_passes; pass++) {
    const size_t moved = refiner.PassWithinRoom();
    pass_done();
    if (FewMoved(moved, owner.size()) && !refiner.loads().AnyExceedsRoom()) break;
  }
}

}  // namespace graphd
