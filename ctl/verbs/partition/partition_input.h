// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <CLI/CLI.hpp>
#include <nlohmann/json_fwd.hpp>
#include <string>
#include <vector>

#include "format/external/describe_files.h"
#include "format/input/raw_graph.h"
#include "format/io/spill_files.h"
#include "format/io/step_progress.h"

// The options of `graphctl partition` that name the input graph and its format, and the choice of
// its reader.

namespace graphd::ctl {

class PartitionInput {
 public:
  // The object must outlive `verb`.
  void AddOptions(CLI::App& verb);
  // Reads the graph. Throws Error(kInvalid) for contradictory options, Error(kNotFound), which
  // lists what was looked for, if there is no input, and the readers' errors. `output`: the
  // directory that will be written. If the input is partitions, they must not be in this directory.
  // With `spill`, the graph's arrays are kept in the files of `spill`, and the input can't be
  // partitions.
  RawGraph Read(const std::string& output, const StepProgress& progress,
                SpillFiles* spill = nullptr) const;
  // Describes the options, and the files that they name with their sizes and times of change.
  // Leaves out the files that this run writes.
  nlohmann::ordered_json Describe(const WrittenFiles& written) const;

 private:
  enum class Format { kAuto, kOgb, kEdges, kNpy, kMtx, kParquet, kChunked, kPartition };
  Format FormatByName() const;
  // Determines the format from the file or directory at --input.
  Format Detect() const;
  Format DetectDirectory() const;
  static Format JsonFormat(const std::string& path);
  // Returns metadata.json in --input, or --input itself if it is a file.
  std::string MetadataPath() const;
  void CheckOptions(Format format, bool files) const;
  RawGraph ReadPartitions(const std::string& output, const StepProgress& progress) const;
  RawGraph ReadFiles(Format format, const StepProgress& progress, SpillFiles* spill) const;
  void AddFileOptions(CLI::App& verb);

  std::string path_, format_ = "auto", split_;
  std::vector<std::string> edges_, nodes_, num_nodes_, feature_columns_;
  std::string src_column_, dst_column_, separator_ = "auto", header_ = "auto", python_ = "python3";
  bool add_reverse_ = false, map_ids_ = false;
};

}  // namespace graphd::ctl
