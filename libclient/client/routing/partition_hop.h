// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <cstdint>
#include <vector>

#include "client/routing/shared_rows.h"
#include "sampling/hop_request.h"

namespace graphd {

// A PartitionHop is the part of a hop that one partition does, with the memory that its request and
// answer refer to. The memory is reused from hop to hop.
struct PartitionHop {
  HopRequest request;
  HopAnswer answer;
  std::vector<SampledEdges<int64_t>> samples;  // [rule of the call]
  // The memory that the request's seed lists and the answer's rows refer to.
  std::vector<std::vector<int64_t>> streams, times, places;
  std::vector<std::vector<double>> real_times;
  std::vector<std::vector<int64_t>> exclude;  // [etype]
  std::vector<MissingRows> missing;           // [HopCall::rows], to request or to wait for
  // The rows that are too large for the message of the hop, and the places where they are written.
  std::vector<SeedRows> large_rows;
  std::vector<HopAnswer::Rows> large_places;
};

}  // namespace graphd
