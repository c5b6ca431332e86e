// SPDX-License-Identifier: Apache-2.0
#pragma once
#include "client/routing/access_scratch.h"
#include "client/routing/hop_call.h"

namespace graphd {

// Splits one hop into requests, one per partition, in scratch memory. The call and the scratch must
// outlive the plan.
class HopPlan {
 public:
  // Splits seeds and excluded edges by owner. Throws Error(kInvalid) for an id out of range.
  HopPlan(GraphAccess& access, const HopCall& call, AccessScratch& scratch);

  // Fills the request to a partition and the places of its answer; also for another attempt.
  void Prepare(PartId part);
  // Finishes the reads of rows, once all answers are there (GraphAccess::FinishShared).
  void FinishShared();

 private:
  void SplitSeeds();
  void SplitExcluded();
  void AnswerWithoutEdges(PartId part, const SamplingRule& rule,
                          SampledEdges<int64_t>& sample) const;

  GraphAccess& access_;
  const HopCall& call_;
  AccessScratch& scratch_;
};

}  // namespace graphd
