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

// Keeps walks' random numbers apart from those of samples with the same seed.
inline uint64_t WalkSeed(uint64_t seed) noexcept { return CombineKeys(seed, 0x77616c6bULL); }

// Uniform in [0, 1).
inline double NextUnit(CounterRng& random) noexcept {
  return static_cast<double>(random.Next() >> 11) * 0x1p-53;
}

// Throws Error(kInvalid) unless a walk may have so many steps.
void CheckWalkLength(int64_t length);
// The same for as many walks from each of so many seeds.
void CheckWalkCount(size_t seeds, size_t walks_per_seed, size_t length);

// Picks for one step along an edge type: weighted by `prob` if the type has that feature. Throws
// Error(kInvalid).
SamplingRule StepPick(const GraphAccess& access, EdgeTypeId etype, Direction direction,
                      const std::string& prob);

// The walks of a call while they are under way. One thread.
class Walkers {
 public:
  // `ntypes`: of the places of a walk, the seeds' first. Throws Error(kInvalid).
  Walkers(const DistGraph& graph, std::span<const int64_t> seeds, std::vector<NodeTypeId> ntypes,
          bool edge_ids);

  // Numbers of the walks that go on, ascending, and where they are.
  std::span<const int64_t> walks() const noexcept { return walks_; }
  std::span<const int64_t> nodes() const noexcept { return nodes_; }
  bool done() const noexcept { return walks_.empty() || step_ == result_.length; }
  // Steps taken.
  size_t step() const noexcept { return step_; }
  // Where walks()[i] was before its last step.
  int64_t previous(size_t i) const noexcept {
    return result_[static_cast<size_t>(walks_[i])][step_ - 1];
  }

  // Ends each walk with this probability.
  void EndSome(double probability, uint64_t key);
  // walks()[i] goes along edge_ids[i] (empty: not asked for) to nodes[i]; -1 ends it.
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
