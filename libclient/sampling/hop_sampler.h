// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <cstdint>
#include <functional>
#include <vector>

#include "graph/partition.h"
#include "sampling/edge_sampler.h"
#include "sampling/edge_set.h"
#include "sampling/hop_request.h"
#include "sampling/index/edge_indexes.h"
#include "sampling/uniform_sampler.h"

namespace graphd {

// A sampler that applies one rule of a hop to one partition: it finds the rows, the indexes and the
// column that the rule needs, samples edges, and turns the slots of these edges into ids. A trainer
// runs it on the memory of a daemon on its machine, which it has mapped. Daemons run it for
// trainers on other machines. It reuses its memory from call to call. Not thread-safe.
class HopSampler {
 public:
  // Receives an upper bound of the sampled edges before memory is allocated for them; may throw.
  using Admit = std::function<void(uint64_t)>;

  // Applies the rule. Requires: the rule and the seeds were checked, and the partition owns the
  // seeds if the rule samples in-edges. Id is uint32_t (if the ids of the neighbours' type fit),
  // uint64_t or int64_t.
  template <class Id>
  void Run(const Partition& partition, EdgeIndexes& indexes, const AppliedRule& applied,
           const HopSeeds& seeds, SampledEdges<Id>& out, const Admit& admit = nullptr);

 private:
  UniformSampler uniform_;
  EdgeSampler edge_sampler_;
  EdgeSet excluded_;
  std::vector<int64_t> rows_, exclude_rows_;
};

}  // namespace graphd
