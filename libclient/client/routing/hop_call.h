// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <span>
#include <string>

#include "base/index.h"
#include "graphd/sampling.h"

namespace graphd {

// The rows of a node feature that are read in the messages of a hop: the rows of the seeds of a
// type from position `begin` on, which are written to `out`.
struct HopRows {
  NodeTypeId ntype;
  std::string name;
  size_t begin;
  std::byte* out;
};

// The arguments of one hop over all partitions; see SampleHop.
struct HopCall {
  std::span<const HopSeeds> seeds;
  std::span<const SamplingRule> rules;
  const HopOptions& options;
  std::span<const HopRows> rows;

  const HopSeeds& seeds_of(NodeTypeId t) const {
    static constexpr HopSeeds kNone{};
    return Index(t) < seeds.size() ? seeds[Index(t)] : kNone;
  }
};

class GraphAccess;

// Checks the arguments of a hop, except for ids out of range. Throws what SampleHop throws.
void CheckHop(const GraphAccess& access, const HopCall& call);

}  // namespace graphd
