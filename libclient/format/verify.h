// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <string>
#include <vector>

#include "format/config/part_config.h"
#include "format/io/step_progress.h"

// Checks every file of a partitioned graph, continuing after faults. One partition is in memory at
// a time.
//
// Checks of native partitions: header, file sizes, the checksum of every array, zeros between
// arrays; offsets start at 0, never decrease and end at the number of edges; sources exist and
// ascend within a node's edges (destinations are owned by construction); features have the same
// name, dtype and row shape in all partitions; original ids are a permutation over all partitions.
// Checks of DGL's partitions: everything that loading checks.

namespace graphd {

struct VerifyReport {
  struct Part {
    std::vector<std::string> problems;  // "<file>: ... offset ... expected ..."
    bool ok() const noexcept { return problems.empty(); }
  };
  std::vector<Part> parts;            // by PartId
  std::vector<std::string> problems;  // problems of the whole graph
  bool ok() const noexcept;
};

// Verifies the graph. Faults in the files are returned, never thrown; throws only if the check
// itself can't continue (too little memory).
VerifyReport VerifyGraph(const PartConfig& config, const StepProgress& progress = {});

}  // namespace graphd
