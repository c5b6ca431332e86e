// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <CLI/CLI.hpp>
#include <string>
#include <vector>

#include "format/input/raw_graph.h"
#include "format/io/step_progress.h"

// The options of `graphctl partition` that say which graph to read and how, and the choice of its
// reader.

namespace graphd::ctl {

class PartitionInput {
 public:
  // The object must outlive `verb`.
  void AddOptions(CLI::App& verb);
  // Throws Error(kInvalid) for options that make no sense together, Error(kNotFound) listing what
  // was looked for if there is nothing to read, and what the readers throw. `output`: the directory
  // that is about to be written, in which no partitions that are read may lie.
  RawGraph Read(const std::string& output, const StepProgress& progress) const;

 private:
  enum class Format { kAuto, kOgb, kEdges, kNpy, kMtx, kChunked, kPartition };
  Format FormatByName() const;
  // By what is at --input.
  Format Detect() const;
  static Format JsonFormat(const std::string& path);
  // metadata.json in --input, or the file itself.
  std::string MetadataPath() const;
  void CheckOptions(Format format, bool files) const;
  RawGraph ReadPartitions(const std::string& output, const StepProgress& progress) const;
  RawGraph ReadFiles(Format format, const StepProgress& progress) const;
  void AddFileOptions(CLI::App& verb);

  std::string path_, format_ = "auto", split_;
  std::vector<std::string> edges_, nodes_, num_nodes_, feature_columns_;
  std::string src_column_, dst_column_, separator_ = "auto", header_ = "auto";
  bool add_reverse_ = false, map_ids_ = false;
};

}  // namespace graphd::ctl
