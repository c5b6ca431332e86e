// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <CLI/CLI.hpp>
#include <string>
#include <vector>

#include "format/partitioner.h"

// The options of `graphctl partition` that determine the output format and its details.

namespace graphd::ctl {

class PartitionOutput {
 public:
  // The object must outlive `verb`.
  void AddOptions(CLI::App& verb);
  // Sets the members format, storage and dgl of `options`. Prints a note on standard error if an
  // option has no effect in the native format. Throws Error(kInvalid) for unknown names.
  void Apply(PartitionOptions& options) const;

 private:
  std::string format_ = "native", graph_formats_;
  int num_hops_ = 1;
  std::string edge_orig_id_ = "yes";
  std::vector<std::string> store_as_;
};

}  // namespace graphd::ctl
