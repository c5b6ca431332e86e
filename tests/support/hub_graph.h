// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <cstdint>
#include <string>

// The graph that most tests of clients and daemons serve: a power-law graph with two hubs of 50,000
// in-edges, 128-float features, labels and a mask.

namespace graphd::testing {

inline constexpr int64_t kHubGraphNodes = 60000;
inline constexpr int64_t kHubs = 2;  // original ids 0 and 1
inline constexpr uint64_t kHubDegree = 50000;

// The build writes the graph in so many partitions to GRAPHD_HUB_GRAPH_DIR, once for all tests:
// to make it takes seconds under a sanitizer.
inline constexpr int kPreparedHubGraphParts = 2;

// Writes the graph in `num_parts` partitions to the directory `output`, under the name "hubs".
// Returns the path of the part config. Earlier files are replaced.
std::string WriteHubGraph(const std::string& output, int num_parts);

}  // namespace graphd::testing
