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
// Whether the method can sample with replacement.
bool MayReplace(SamplingMethod method) noexcept;

// Checks types, fanout and method, and that the column exists and has a dtype that the method can
// use. `features`: those of the edge type. Throws Error(kInvalid), Error(kNotFound).
void CheckSamplingRule(const Schema& schema, const SamplingRule& rule,
                       const std::vector<FeatureInfo>& features);
// Whether the times of a temporal rule are floating-point numbers; throws as above.
bool TakesRealTimes(const Schema& schema, const SamplingRule& rule,
                    const std::vector<FeatureInfo>& features);

// Node type of the seeds of a rule, and of the neighbours that it gives.
NodeTypeId SeedType(const Schema& schema, const SamplingRule& rule);
NodeTypeId NeighborType(const Schema& schema, const SamplingRule& rule);

// The derived arrays that the rule needs.
std::vector<EdgeIndexSpec> IndexesOf(const SamplingRule& rule);

}  // namespace graphd
