// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "base/index.h"
#include "format/partition/balance_targets.h"
#include "format/partition/node_weights.h"
#include "graphd/ids.h"

namespace graphd {

// The amount of each quantity (node_weights.h) in every partition. Not thread-safe.
class PartLoads {
 public:
  // Keeps a reference to `weights`.
  PartLoads(const NodeWeights& weights, size_t parts, std::span<const PartId> owner)
      : weights_(weights), parts_(parts), sums_(weights.Sums()), loads_(parts * sums_.size(), 0) {
    for (uint64_t sum : sums_) rooms_.push_back(PartitionRoom(sum, parts));
    for (size_t i = 0; i < owner.size(); i++) Change(i, owner[i], 1);
  }

  size_t parts() const noexcept { return parts_; }
  size_t quantities() const noexcept { return sums_.size(); }
  const std::vector<uint64_t>& sums() const noexcept { return sums_; }

  // Returns how much of a quantity a partition holds, in shares. One share is the amount that each
  // partition would hold in perfect balance.
  double Shares(size_t part, size_t quantity) const {
    const double share = static_cast<double>(sums_[quantity]) / static_cast<double>(parts_);
    return static_cast<double>(Amount(part, quantity)) / std::max(share, 1.0);
  }

  void Move(size_t node, PartId from, PartId to) {
    Change(node, from, -1);
    Change(node, to, 1);
  }

  // Returns whether a partition, with the node added, would hold at most `shares` shares of each
  // quantity to which the node adds something.
  bool FitsShares(size_t node, size_t part, double shares) const {
    bool fits = true;
    weights_.ForEach(node, [&](size_t q, uint64_t weight) {
      const double share = static_cast<double>(sums_[q]) / static_cast<double>(parts_);
      fits &= static_cast<double>(Amount(part, q) + weight) <= shares * share;
    });
    return fits;
  }

  // Selects the quantities that are checked: all of them, or only those of nodes.
  enum class Of { kNodes, kAll };

  // Returns whether a node may move from partition `own` to partition `part`: for each quantity to
  // which the node adds something, `part` has room for the node, or at least will hold less with
  // the node than `own` does now.
  bool HasRoom(size_t node, size_t own, size_t part, Of of) const {
    bool fits = true;
    weights_.ForEach(node, [&](size_t q, uint64_t weight) {
      if (IsLeftOut(q, of)) return;
      const uint64_t then = Amount(part, q) + weight;
      fits &= then <= rooms_[q] || then < Amount(own, q);
    });
    return fits;
  }

  // Returns whether a partition exceeds its room for any quantity to which the node adds something.
  bool ExceedsRoom(size_t node, size_t part, Of of) const {
    bool exceeds = false;
    weights_.ForEach(node, [&](size_t q, uint64_t) {
      exceeds |= !IsLeftOut(q, of) && Amount(part, q) > rooms_[q];
    });
    return exceeds;
  }
  // Returns whether any partition exceeds its room for any quantity.
  bool AnyExceedsRoom() const {
    for (size_t i = 0; i < loads_.size(); i++) {
      if (loads_[i] > rooms_[i % rooms_.size()]) return true;
    }
    return false;
  }

  // Returns the largest number of shares (see Shares) that a partition holds of any quantity to
  // which the node adds something.
  double Fullness(size_t node, size_t part) const {
    double fullest = 0;
    weights_.ForEach(node,
                     [&](size_t q, uint64_t) { fullest = std::max(fullest, Shares(part, q)); });
    return fullest;
  }

 private:
  bool IsLeftOut(size_t quantity, Of of) const {
    return of == Of::kNodes && quantity >= weights_.node_quantities();
  }
  uint64_t Amount(size_t part, size_t quantity) const {
    return loads_[part * sums_.size() + quantity];
  }

  void Change(size_t node, PartId part, int sign) {
    uint64_t* loads = loads_.data() + Index(part) * sums_.size();
    weights_.ForEach(node, [&](size_t q, uint64_t weight) {
      loads[q] += sign > 0 ? weight : uint64_t{0} - weight;  // modulo 2^64
    });
  }

  const NodeWeights& weights_;
  const size_t parts_;
  std::vector<uint64_t> sums_, rooms_;  // by quantity
  std::vector<uint64_t> loads_;         // by partition, then quantity
};

}  // namespace graphd
