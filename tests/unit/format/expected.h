// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <cstdint>
#include <string>
#include <vector>

// Compares the contents that graphd reads from a DGL partition folder with the answers of DGL
// itself (expected.json in the folder).

namespace graphd::test {

struct Comparison {
  std::vector<std::string> mismatches;  // the first 20
  uint64_t answers = 0;                 // answers of the partition book
  uint64_t edges = 0;                   // in-edges, by source and edge id
  uint64_t features = 0;                // features, by dtype, shape, SHA-256 and sum
  uint64_t partitions = 0;
};

// Loads every partition of the (unpacked) folder and compares everything. Throws what the readers
// throw.
Comparison CompareWithDgl(const std::string& folder);

}  // namespace graphd::test
