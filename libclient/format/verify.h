// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <string>
#include <vector>

#include "format/config/part_config.h"
#include "format/io/step_progress.h"

// Checks every file of a partitioned graph, continuing after faults. One partition is in memory at
// a time.
//
// In native partitions, it checks the header, the sizes of files, the checksum of every array, and
// that the bytes between arrays are 0. Offsets must start at 0, never decrease and end at the
// number of edges. Sources must exist and ascend within a node's edges. (Destinations can't be
// wrong: the offsets are those of owned nodes.) Features must have the same name, dtype and row
// shape in all partitions. Over all partitions, no original id may be out of range or occur twice.
// In DGL's partitions, it checks everything that loading checks.

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
