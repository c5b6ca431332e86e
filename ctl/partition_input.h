// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <CLI/CLI.hpp>
#include <string>

#include "format/raw_graph.h"
#include "format/step_progress.h"

// The options of `graphctl partition` that say which graph to read and how, and the choice of its
// reader.

namespace graphd::ctl {

class PartitionInput {
 public:
  // The object must outlive `verb`.
  void AddOptions(CLI::App& verb);
  // Throws Error(kInvalid) for options that make no sense together, Error(kNotFound) listing what
  // was looked for if there is nothing to read, and what the readers throw.
  RawGraph Read(const StepProgress& progress) const;

 private:
  std::string path_, format_ = "auto", split_;
  bool add_reverse_ = false;
};

}  // namespace graphd::ctl
