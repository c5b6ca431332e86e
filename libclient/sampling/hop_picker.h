// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <cstdint>
#include <functional>
#include <span>
#include <vector>

#include "graph/partition.h"
#include "graphd/sampling_rule.h"
#include "sampling/edge_picker.h"
#include "sampling/index/edge_indexes.h"
#include "sampling/slots.h"
#include "sampling/uniform.h"

// One SamplingRule on one partition: finds the rows, the indexes and the column that it needs, runs
// the kernel and turns positions into ids. What trainers do on mapped memory, daemons for the
// others.

namespace graphd {

// Nodes whose edges are asked for; spans as in HopSeeds.
struct PartSeeds {
  std::span<const int64_t> ids;
  std::span<const int64_t> streams = {};
  std::span<const int64_t> times = {};
  std::span<const double> real_times = {};
};

struct PartPick {
  SamplingRule pick;
  uint64_t key = 0;  // SampleKey
  bool edge_ids = false;
  std::span<const int64_t> exclude = {};  // type-wise ids of the partition's own edges, ascending
  // Told how many edges there may be at most, before memory is taken for them; may throw.
  std::function<void(uint64_t)> admit = nullptr;
};

template <class Id>
struct SampledEdges {
  std::vector<uint32_t> counts;   // per seed
  std::vector<Id> neighbors;      // type-wise
  std::vector<int64_t> edge_ids;  // type-wise, if asked for
  std::vector<Race> races;        // outward picks: one per edge, for MergeRaces
};

// Checks what can be told without the data: types, fanout, method, that the column exists and has a
// dtype that the method can use. Throws Error(kInvalid), Error(kNotFound).
// `features`: those of the edge type.
void CheckSamplingRule(const Schema& schema, const SamplingRule& pick,
                       const std::vector<FeatureInfo>& features);
bool IsTemporal(SamplingMethod method) noexcept;
// Whether times of a temporal pick are floating-point numbers; as above.
bool TakesRealTimes(const Schema& schema, const SamplingRule& pick,
                    const std::vector<FeatureInfo>& features);

// Node type of the seeds of a pick, and of the neighbours that it gives.
NodeTypeId SeedType(const Schema& schema, const SamplingRule& pick);
NodeTypeId NeighborType(const Schema& schema, const SamplingRule& pick);

// The derived arrays that the pick needs.
std::vector<EdgeIndexSpec> IndexesOf(const SamplingRule& pick);

// Memory that a thread reuses. Not thread-safe.
class HopPicker {
 public:
  // Requires: a pick and seeds that were checked; seeds of inward picks belong to the partition.
  // Id: uint32_t where ids of the neighbours' type fit, uint64_t or int64_t.
  template <class Id>
  void Run(const Partition& partition, EdgeIndexes& indexes, const PartPick& pick,
           const PartSeeds& seeds, SampledEdges<Id>& out);

 private:
  UniformSampler uniform_;
  EdgePicker picker_;
  EdgeSet excluded_;
  std::vector<int64_t> rows_, exclude_rows_;
};

}  // namespace graphd
