// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <vector>

#include "graph/partition.h"
#include "graphd/sampling_rule.h"
#include "sampling/index/edge_index.h"

// Properties of sampling rules that are known without looking at any edge.

namespace graphd {

const char* SamplingMethodName(SamplingMethod method) noexcept;  // "uniform", "weighted", ...
bool IsTemporal(SamplingMethod method) noexcept;
// Returns whether the method can sample with replacement.
bool MayReplace(SamplingMethod method) noexcept;

// Checks the rule's edge type, fanout and method, and that its column exists and has a dtype that
// the method can use. `features` are the features of the edge type. Throws Error(kInvalid) or
// Error(kNotFound).
void CheckSamplingRule(const Schema& schema, const SamplingRule& rule,
                       const std::vector<FeatureInfo>& features);
// Returns whether the times of a temporal rule are floating-point numbers. Throws as
// CheckSamplingRule does.
bool TakesRealTimes(const Schema& schema, const SamplingRule& rule,
                    const std::vector<FeatureInfo>& features);

// Return the node type of a rule's seeds, and the node type of the neighbours that it samples.
NodeTypeId SeedType(const Schema& schema, const SamplingRule& rule);
NodeTypeId NeighborType(const Schema& schema, const SamplingRule& rule);

// Returns the indexes, which are arrays derived from the partition, that the rule needs.
std::vector<EdgeIndexSpec> IndexesOf(const SamplingRule& rule);

}  // namespace graphd
