// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <CLI/CLI.hpp>
#include <string>

#include "format/partition/assign_nodes.h"

// The options of `graphctl partition` that determine which partition owns which node.

namespace graphd::ctl {

class PartitionAssign {
 public:
  // The object must outlive the parsing of options.
  void AddOptions(CLI::App& verb);
  // Copies the parsed options to `options`. Throws Error(kInvalid) for unknown names of methods and
  // objectives.
  void Apply(AssignOptions& options) const;

 private:
  AssignOptions options_;
  std::string method_ = "metis", objective_ = "cut";
};

}  // namespace graphd::ctl
