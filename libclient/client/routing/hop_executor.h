// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <vector>

#include "client/link/rpc_thread.h"
#include "client/routing/access_scratch.h"
#include "client/routing/hop_call.h"

namespace graphd {

// The execution of hops over all partitions. Mapped partitions are sampled in place, and the other
// partitions by RPC, in parallel.
class HopExecutor {
 public:
  explicit HopExecutor(GraphAccess& access) : access_(access) {}

  // Returns one Neighbors per rule, in the caller's order of seeds. Sends one message to each
  // partition that is not mapped, unless the answer would be too large for one. Throws what
  // SampleHop throws.
  std::vector<Neighbors> Run(const HopCall& call);

 private:
  size_t SeedsPerMessage(std::span<const SamplingRule> rules) const;
  std::vector<Neighbors> RunAtOnce(const HopCall& call);
  std::vector<Neighbors> RunInPieces(const HopCall& call, size_t seeds_per_piece);
  // Sends the requests to a partition.
  std::vector<RpcThread::Pending> Start(PartId part, PartitionHop& hop);
  // Answers the request to a mapped partition.
  void RunMapped(PartId part, AccessScratch& scratch);

  GraphAccess& access_;
};

}  // namespace graphd
