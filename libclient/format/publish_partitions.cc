// SPDX-License-Identifier: Apache-2.0
#include "format/publish_partitions.h"

#include <filesystem>
#include <vector>

#include "base/file.h"
#include "base/strings.h"
#include "format/config/part_config.h"
#include "format/native/header.h"
#include "format/node_names.h"
#include "format/partitioner.h"
#include "format/write_part_config.h"

namespace graphd {
namespace {

namespace fs = std::filesystem;

PartitionOptions OptionsOf(const GraphPlan& plan, const PublishOptions& options) {
  PartitionOptions partition;
  partition.graph_name = plan.graph_name;
  partition.num_parts = plan.num_parts();
  partition.method = PartMethod::kRandom;
  partition.output = options.output;
  partition.force = options.force;
  return partition;
}

// Throws if the partition in the staging directory is not complete, or not the plan's.
void CheckPart(const GraphPlan& plan, const std::string& staging, int32_t part) {
  const std::string directory = JoinPath(staging, PartDirectoryName(part));
  const NativeHeader header = ReadNativeHeader(directory);
  if (header.graph_name == plan.graph_name && static_cast<int32_t>(header.part) == part) return;
  Throw(ErrorCode::kCorrupt, directory, " has partition ", static_cast<int32_t>(header.part),
        " of graph '", header.graph_name, "', expected ", part, " of '", plan.graph_name, "'");
}

// Moves all files of a directory into another one, the header last.
void MoveFiles(const fs::path& from, const fs::path& to) {
  fs::create_directories(to);
  std::vector<fs::path> files;
  for (const auto& entry : fs::directory_iterator(from)) files.push_back(entry.path());
  for (const bool header : {false, true}) {
    for (const fs::path& file : files) {
      if ((file.filename() == kNativeHeaderFile) == header) fs::rename(file, to / file.filename());
    }
  }
  SyncDirectory(to.string());
}

// Moves everything from the staging directory into the output, which has no graph any more.
void MoveGraph(const GraphPlan& plan, const PublishOptions& options) {
  for (int32_t p = 0; p < plan.num_parts(); p++) {
    // Other files in the output's directory of the partition are kept.
    MoveFiles(JoinPath(options.staging, PartDirectoryName(p)),
              JoinPath(options.output, PartDirectoryName(p)));
  }
  for (NodeTypeId t = 0; t < plan.schema.num_ntypes(); t++) {
    const std::string name = NodeNamesFileName(plan.graph_name, plan.schema.ntype(t));
    const std::string path = JoinPath(options.staging, name);
    if (FileExists(path)) fs::rename(path, JoinPath(options.output, name));
  }
  WritePartConfig(options.output, *plan.Meta(), PartFormat::kNative);
}

}  // namespace

void CheckPublishing(const GraphPlan& plan, const PublishOptions& options) {
  plan.Check();
  const PartitionOptions partition = OptionsOf(plan, options);
  CheckPartitionOptions(partition);
  CheckPartitionInput(plan.Features(), partition);
}

std::string PublishPartitions(const GraphPlan& plan, const PublishOptions& options) {
  CheckPublishing(plan, options);
  try {
    for (int32_t p = 0; p < plan.num_parts(); p++) CheckPart(plan, options.staging, p);
    ClearOutput(OptionsOf(plan, options));
    MoveGraph(plan, options);
  } catch (const fs::filesystem_error& error) {
    Throw(ErrorCode::kIo, error.what());
  }
  return JoinPath(options.output, plan.graph_name + ".json");
}

}  // namespace graphd
