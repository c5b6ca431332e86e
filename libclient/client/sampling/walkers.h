// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "base/rng.h"
#include "client/routing/graph_access.h"
#include "graphd/walks.h"

namespace graphd {

// Derives the seed of walks, so that walks and samples with the same seed use different random
// numbers.
inline uint64_t WalkSeed(uint64_t seed) noexcept { return CombineKeys(seed, 0x77616c6bULL); }

// Returns a uniform random number in [0, 1).
inline double NextUnit(CounterRng& random) noexcept {
  return static_cast<double>(random.Next() >> 11) * 0x1p-53;
}

// Throws Error(kInvalid) if `length` is not a permitted number of steps.
void CheckWalkLength(int64_t length);
// Throws Error(kInvalid) if the result of this number of walks would be too large.
void CheckWalkCount(size_t seeds, size_t walks_per_seed, size_t length);

// Returns the rule for one step along an edge type, which is weighted by the feature `prob` if the
// edge type has this feature. Throws Error(kInvalid) on a type out of range.
SamplingRule StepRule(const GraphAccess& access, EdgeTypeId etype, Direction direction,
                      const std::string& prob);

// The state of the walks of a call while they are running. For use by one thread.
class Walkers {
 public:
  // `ntypes` has the node type of every position of a walk, beginning with the type of the seeds.
  // Throws Error(kInvalid) on seeds out of range.
  Walkers(const DistGraph& graph, std::span<const int64_t> seeds, std::vector<NodeTypeId> ntypes,
          bool edge_ids);

  // Returns the indices of the running walks, ascending.
  std::span<const int64_t> walks() const noexcept { return walks_; }
  // Returns the current node of each running walk.
  std::span<const int64_t> nodes() const noexcept { return nodes_; }
  bool done() const noexcept { return walks_.empty() || step_ == result_.length; }
  // Returns the number of steps taken.
  size_t step() const noexcept { return step_; }
  // Returns the node of walks()[i] before its last step.
  int64_t previous(size_t i) const noexcept {
    return result_[static_cast<size_t>(walks_[i])][step_ - 1];
  }

  // Ends each walk with the given probability. `key` is the key of the random numbers.
  void EndSome(double probability, uint64_t key);
  // Moves walks()[i] along edge_ids[i] (empty: not requested) to nodes[i]; -1 ends the walk.
  void Step(std::span<const int64_t> nodes, std::span<const int64_t> edge_ids);

  Walks Finish() && { return std::move(result_); }

 private:
  template <class Goes>
  void Keep(const Goes& goes);
  Walks result_;
  size_t step_ = 0;
  std::vector<int64_t> walks_, nodes_;
};

}  // namespace graphd
