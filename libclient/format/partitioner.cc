// SPDX-License-Identifier: Apache-2.0
#include "format/partitioner.h"

#include <algorithm>
#include <filesystem>
#include <new>
#include <nlohmann/json.hpp>

#include "base/file.h"
#include "base/index.h"
#include "base/strings.h"
#include "format/config/part_config.h"
#include "format/external/run_state.h"
#include "format/label_texts.h"
#include "format/native/header.h"
#include "format/native/write_partition.h"
#include "format/node_names.h"
#include "format/partition/balance_targets.h"
#include "format/partition/plan.h"
#include "format/partition/trainer_ids.h"
#include "format/write_part_config.h"

namespace graphd {
namespace {

namespace fs = std::filesystem;

std::string PartDirectory(const std::string& output, PartId part) {
  return JoinPath(output, PartDirectoryName(static_cast<int32_t>(part)));
}

std::string ConfigPath(const PartitionOptions& options) {
  return JoinPath(options.output, options.graph_name + ".json");
}

// Removes the temporary files that an interrupted run left for directory/<name>.
void RemoveTemporariesOf(const std::string& directory, const std::string& name) {
  std::vector<fs::path> found;
  for (const auto& entry : fs::directory_iterator(directory)) {
    if (entry.path().filename().string().starts_with(name + ".tmp")) found.push_back(entry.path());
  }
  for (const fs::path& path : found) fs::remove(path);
}

// Removes directory/<name> and its temporary files.
void RemoveFile(const std::string& directory, const std::string& name) {
  RemoveTemporariesOf(directory, name);
  fs::remove(JoinPath(directory, name));
}

// Returns the expected size of the files, for the progress.
uint64_t ExpectedBytes(const RawGraph& graph, PartFormat format) {
  const uint64_t node = format == PartFormat::kNative ? 12 : 29;
  const uint64_t edge = format == PartFormat::kNative ? 8 : 37;
  uint64_t bytes = 0;
  for (const RawNodes& nodes : graph.nodes) {
    bytes += Index(nodes.count) * node;
    for (const RawFeature& feature : nodes.features) bytes += feature.values.num_bytes();
  }
  for (const RawEdges& edges : graph.edges) {
    bytes += Index(edges.count()) * edge;
    for (const RawFeature& feature : edges.features) {
      bytes += feature.values.row_bytes() * Index(edges.count());
    }
  }
  return bytes;
}

// Refuses names that can't be written as JSON, which requires UTF-8.
void CheckUtf8(const std::string& name) {
  try {
    nlohmann::json(name).dump();
  } catch (const nlohmann::json::type_error&) {
    const auto replace = nlohmann::json::error_handler_t::replace;
    Throw(ErrorCode::kInvalid, "the name ", nlohmann::json(name).dump(-1, ' ', false, replace),
          " of a type or feature is not UTF-8; rename it");
  }
}

void CheckFeatures(const std::vector<RawFeature>& features, const std::string& type,
                   const PartitionOptions& options) {
  CheckUtf8(type);
  for (const RawFeature& feature : features) {
    CheckUtf8(feature.name);
    if (feature.name == kOrigId) {
      Throw(ErrorCode::kInvalid, type, " has a feature '", kOrigId,
            "', the name that partitioning gives to the original ids; rename it");
    }
    if (feature.name == kTrainerId && options.num_trainers_per_machine > 1) {
      Throw(ErrorCode::kInvalid, type, " has a feature '", kTrainerId,
            "', the name that --num_trainers_per_machine gives to its result; rename it");
    }
  }
}

PartitionPlan MakePlan(const RawGraph& graph, NodeOwners owners, const PartitionOptions& options) {
  PartitionPlan plan =
      MakePartitionPlan(graph, options.graph_name, options.num_parts, std::move(owners),
                        PartMethodName(options.method), options.progress);
  if (options.format == PartFormat::kDgl) {
    CheckDglPlan(graph, plan, options.dgl);
    GraphMeta meta = *plan.meta;
    meta.halo_hops = options.dgl.num_hops;
    plan.meta = std::make_shared<const GraphMeta>(std::move(meta));
  }
  return plan;
}

PartitionSummary PartitionAndWrite(const RawGraph& input, const PartitionOptions& options) {
  const bool dgl = options.format == PartFormat::kDgl;
  // Finds mistakes in labels and in store_as before the assignment, which takes long.
  CheckLabelTexts(options.graph_name, input);
  if (!options.storage.store_as.empty()) MakeStoragePlan(input, options.storage);
  Assignment assignment = AssignNodes(input, options, options.progress);
  const RawGraph graph =
      assignment.trainers.empty() ? input : WithTrainerIds(input, assignment.trainers);
  assignment.trainers.clear();
  PartitionSummary summary;
  summary.classes = CountClasses(graph, options, assignment.owners);
  const StoragePlan storage = dgl ? StoragePlan() : MakeStoragePlan(graph, options.storage);
  const PartitionPlan plan = MakePlan(graph, std::move(assignment.owners), options);
  ClearOutput(options);
  summary.node_names = WriteNodeNames(options.output, options.graph_name, graph);
  summary.label_texts = WriteLabelTexts(options.output, options.graph_name, graph);
  summary.meta = plan.meta;
  summary.edge_cut = plan.edge_cut();
  const uint64_t total = ExpectedBytes(graph, options.format);
  uint64_t done = 0;
  for (PartId p = 0; p < options.num_parts; p++) {
    const auto written = [&](uint64_t bytes) {
      done += bytes;
      if (options.progress)
        options.progress("writing partitions", std::min(done, total - 1), total);
    };
    const std::string directory = PartDirectory(options.output, p);
    summary.bytes.push_back(dgl ? WriteDglPartition(graph, plan, directory, p, options.dgl, written)
                                : WritePartition(graph, plan, storage, directory, p, written));
  }
  WritePartConfig(options.output, *plan.meta, options.format);
  summary.part_config = ConfigPath(options);
  if (options.progress) options.progress("writing partitions", total, total);
  return summary;
}

}  // namespace

void CheckPartitionOptions(const PartitionOptions& options) {
  constexpr std::string_view kNameCharacters =
      "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789._-";
  const std::string& name = options.graph_name;
  if (name.empty() || name.size() > 100 || name[0] == '.' || name[0] == '-' ||
      name.find_first_not_of(kNameCharacters) != std::string::npos) {
    Throw(ErrorCode::kInvalid, "graph name '", name,
          "': expected 1 to 100 letters, digits, '.', '_' or '-', not beginning with '.' or '-'");
  }
  CheckAssignOptions(options);
  if (options.format == PartFormat::kDgl) {
    CheckDglOptions(options.dgl);
    if (!options.storage.edge_orig_id || !options.storage.store_as.empty()) {
      Throw(ErrorCode::kInvalid, "--edge_orig_id no and --store_as need --format native; ",
            "DGL's format has no such choice");
    }
  }
  if (options.output.empty()) Throw(ErrorCode::kInvalid, "the output directory has no name");
  if (options.force) return;
  for (const std::string& path : {ConfigPath(options), PartDirectory(options.output, 0)}) {
    if (!FileExists(path)) continue;
    Throw(ErrorCode::kExists, path, " exists; give another --output, or --force to replace it");
  }
}

// Removes the states of interrupted runs, because these runs would otherwise continue and take the
// new partitions for their own. Removes the part config first of all files, so that an interrupted
// run leaves no graph that looks complete. Also removes partitions beyond the new number, which
// would seem to belong to the new graph.
void ClearOutput(const PartitionOptions& options, const std::string& keep) {
  MakeDirectories(options.output);
  RunState::RemoveOthers(options.output, keep);
  RemoveFile(options.output, options.graph_name + ".json");
  RemoveNodeNames(options.output, options.graph_name);
  RemoveLabelTexts(options.output, options.graph_name);
  for (PartId p = 0; p < kMaxParts; p++) {
    const std::string directory = PartDirectory(options.output, p);
    if (!fs::is_directory(directory)) {
      if (p >= options.num_parts) break;
      continue;
    }
    for (const char* file : {kNativeHeaderFile, "graph.seg", "node_feat.seg", "edge_feat.seg",
                             "graph.dgl", "node_feat.dgl", "edge_feat.dgl"}) {
      RemoveFile(directory, file);
    }
    if (p >= options.num_parts && fs::is_empty(directory)) fs::remove(directory);
  }
}

void CheckPartitionInput(const RawGraph& graph, const PartitionOptions& options) {
  for (NodeTypeId t = 0; t < graph.schema.num_ntypes(); t++) {
    CheckFeatures(graph.nodes[Index(t)].features, "node type '" + graph.schema.ntype(t) + "'",
                  options);
  }
  for (EdgeTypeId e = 0; e < graph.schema.num_etypes(); e++) {
    CheckFeatures(graph.edges[Index(e)].features,
                  "edge type '" + graph.schema.etype(e).ToString() + "'", options);
  }
  if (options.format == PartFormat::kDgl) CheckDglGraph(graph);
}

void RemoveTemporaries(const PartitionOptions& options) {
  RemoveTemporariesOf(options.output, options.graph_name + ".json");
  RemoveNodeNames(options.output, options.graph_name);
  RemoveLabelTexts(options.output, options.graph_name);
  for (PartId p = 0; p < options.num_parts; p++) {
    RemoveTemporariesOf(PartDirectory(options.output, p), kNativeHeaderFile);
  }
}

PartitionSummary PartitionGraph(const RawGraph& graph, const PartitionOptions& options) {
  CheckPartitionOptions(options);
  CheckPartitionInput(graph, options);
  try {
    return PartitionAndWrite(graph, options);
  } catch (const std::bad_alloc&) {
    Throw(ErrorCode::kOverloaded, "too little memory to partition the graph; --part_method random ",
          "needs the least, and --memory SIZE keeps within SIZE");
  } catch (const fs::filesystem_error& error) {
    Throw(ErrorCode::kIo, error.what());
  }
}

}  // namespace graphd
