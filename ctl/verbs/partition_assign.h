// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <CLI/CLI.hpp>
#include <string>

#include "format/partition/assign_nodes.h"

// The options of `graphctl partition` that say which partition owns which node.

namespace graphd::ctl {

class PartitionAssign {
 public:
  // The object must outlive the parsing.
  void AddOptions(CLI::App& verb);
  // What was given. Throws Error(kInvalid) for words that are none.
  void Apply(AssignOptions& options) const;

 private:
  AssignOptions options_;
  std::string method_ = "metis", objective_ = "cut";
};

}  // namespace graphd::ctl
