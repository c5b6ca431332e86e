// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <cstdint>
#include <deque>
#include <memory>
#include <vector>

#include "client/routing/owner_split.h"
#include "client/routing/partition_hop.h"
#include "client/routing/shared_rows.h"
#include "sampling/hop_sampler.h"
#include "sampling/relabel.h"

namespace graphd {

// The scratch memory of a call. A call borrows it, and later calls use it again.
struct AccessScratch {
  std::vector<OwnerSplit> splits;  // [ntype], or the first for calls on one type
  std::vector<int64_t> rows;
  std::vector<MissingRows> missing;  // [part]
  HopSampler hop_sampler;
  std::vector<PartitionHop> hops;                      // [part]
  std::vector<std::unique_ptr<RelabelTable>> relabel;  // [ntype], made when first used
  std::deque<RelabelTable> relabel_any;                // [ntype], of any ids, made when first used

  // Drops the rows that are missing, and ends the requests for them. After that, no other thread
  // writes to the call's output.
  void ClearMissing() {
    for (MissingRows& of_part : missing) of_part.Clear();
    for (PartitionHop& hop : hops) {
      for (MissingRows& of_feature : hop.missing) of_feature.Clear();
    }
  }
  // Calls f, which attempts to get rows. If f throws, the requests that this call has begun end at
  // once, so that calls that wait for their rows need not wait for the next attempt.
  template <class F>
  void EndRequestsIfItThrows(F f) {
    try {
      f();
    } catch (...) {
      ClearMissing();
      throw;
    }
  }
};

}  // namespace graphd
