// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <CLI/CLI.hpp>
#include <string>

#include "format/partitioner.h"

// The options of `graphctl partition` that say in which format it writes, and how.

namespace graphd::ctl {

class PartitionOutput {
 public:
  // The object must outlive `verb`.
  void AddOptions(CLI::App& verb);
  // Sets format and dgl; says on standard error if an option changes nothing in the native format.
  // Throws Error(kInvalid) for unknown names.
  void Apply(PartitionOptions& options) const;

 private:
  std::string format_ = "native", graph_formats_;
  int num_hops_ = 1;
};

}  // namespace graphd::ctl
