// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <string>
#include <vector>

#include "format/config/part_config.h"
#include "format/io/step_progress.h"

// Checks every file of a partitioned graph, and goes on after the first fault. One partition is in
// memory at a time.
//
// Native partitions: header, file sizes, the checksum of every array, zeros between arrays; offsets
// that start at 0, never fall and end at the number of edges; sources that exist and ascend within
// a node's edges (the edges of a partition point at its own nodes by construction, which is what
// ownership is); features of the same name, dtype and row shape everywhere; original ids that are a
// permutation over all partitions. DGL's partitions: everything that loading checks.

namespace graphd {

struct VerifyReport {
  struct Part {
    std::vector<std::string> problems;  // "<file>: ... offset ... expected ..."
    bool ok() const noexcept { return problems.empty(); }
  };
  std::vector<Part> parts;            // by PartId
  std::vector<std::string> problems;  // of the graph as a whole
  bool ok() const noexcept;
};

// Never throws for what the files hold, only when the check itself can't go on (no memory).
VerifyReport VerifyGraph(const PartConfig& config, const StepProgress& progress = {});

}  // namespace graphd
