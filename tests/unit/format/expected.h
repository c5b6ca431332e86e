// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <cstdint>
#include <string>
#include <vector>

// Holds what graphd reads from a DGL partition folder against what DGL itself answered
// (expected.json in the folder).

namespace graphd::test {

struct Comparison {
  std::vector<std::string> mismatches;  // at most 20 are kept
  uint64_t answers = 0;                 // of the partition book
  uint64_t edges = 0;                   // in-edges, source and edge id each
  uint64_t features = 0;                // dtype, shape, SHA-256 and sum each
  uint64_t partitions = 0;
};

// Loads every partition of the (unpacked) folder and compares everything. Errors of the readers
// come out as they are.
Comparison CompareWithDgl(const std::string& folder);

}  // namespace graphd::test
