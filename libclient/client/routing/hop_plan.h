// SPDX-License-Identifier: Apache-2.0
#pragma once
#include "client/routing/access_scratch.h"
#include "client/routing/hop_call.h"

namespace graphd {

// The plan of one hop: its requests, one per partition, in scratch memory. The call and the scratch
// must outlive the plan.
class HopPlan {
 public:
  // Splits seeds and excluded edges by owner. Throws Error(kInvalid) for an id out of range.
  HopPlan(GraphAccess& access, const HopCall& call, AccessScratch& scratch);

  // Prepares the request to a partition and the buffers and positions that its answer is written
  // to. It is called again before the request is retried.
  void Prepare(PartId part);
  // Finishes the reads of rows. The answers of all partitions must have arrived
  // (GraphAccess::FinishShared).
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
