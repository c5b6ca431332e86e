// SPDX-License-Identifier: Apache-2.0
#include "format/partitioner.h"

#include <algorithm>
#include <filesystem>
#include <new>

#include "base/file.h"
#include "base/strings.h"
#include "format/native_writer.h"
#include "format/write_partition.h"

namespace graphd {
namespace {

namespace fs = std::filesystem;

constexpr PartId kMaxParts = 16384;

size_t Index(int64_t i) { return static_cast<size_t>(i); }

std::string PartDirectory(const std::string& output, PartId part) {
  return JoinPath(output, "part" + std::to_string(part));
}

std::string ConfigPath(const PartitionOptions& options) {
  return JoinPath(options.output, options.graph_name + ".json");
}

// Removes directory/<name> and the temporary files that a run which was killed left for it.
void RemoveFile(const std::string& directory, const std::string& name) {
  std::vector<fs::path> found;
  for (const auto& entry : fs::directory_iterator(directory)) {
    const std::string file = entry.path().filename().string();
    if (file == name || file.starts_with(name + ".tmp")) found.push_back(entry.path());
  }
  for (const fs::path& path : found) fs::remove(path);
}

// The part config goes first, so that a run that is broken off leaves no graph that looks whole;
// partitions beyond the new number go too, or they would seem to belong to it.
void RemoveOld(const PartitionOptions& options) {
  RemoveFile(options.output, options.graph_name + ".json");
  for (PartId p = 0; p < kMaxParts; p++) {
    const std::string directory = PartDirectory(options.output, p);
    if (!fs::is_directory(directory)) {
      if (p >= options.num_parts) break;
      continue;
    }
    for (const char* file : {kNativeHeaderFile, "graph.seg", "node_feat.seg", "edge_feat.seg"}) {
      RemoveFile(directory, file);
    }
    if (p >= options.num_parts && fs::is_empty(directory)) fs::remove(directory);
  }
}

// Homogeneous ranges [type][partition] from the counts [type][partition].
std::vector<std::vector<IdMap::Range>> TileRanges(const std::vector<std::vector<int64_t>>& counts,
                                                  PartId num_parts) {
  std::vector<std::vector<IdMap::Range>> ranges(counts.size());
  int64_t next = 0;
  for (size_t p = 0; p < Index(num_parts); p++) {
    for (size_t t = 0; t < counts.size(); t++) {
      ranges[t].push_back({next, next + counts[t][p]});
      next += counts[t][p];
    }
  }
  return ranges;
}

PartitionPlan MakePlan(const RawGraph& graph, const PartitionOptions& options) {
  const auto step = [&](const char* text, uint64_t done, uint64_t total) {
    if (options.progress) options.progress(text, done, total);
  };
  const PartId parts = options.num_parts;
  PartitionPlan plan;
  step("assigning nodes to partitions", 0, 1);
  plan.owners = AssignNodes(graph, parts, options.method, options.seed);
  step("assigning nodes to partitions", 1, 1);
  std::vector<std::vector<int64_t>> node_counts, edge_counts;
  for (const auto& owners : plan.owners) {
    plan.nodes.push_back(NumberNodes(owners, parts));
    const std::vector<int64_t>& first = plan.nodes.back().first;
    node_counts.emplace_back();
    for (size_t p = 0; p < Index(parts); p++) node_counts.back().push_back(first[p + 1] - first[p]);
  }
  const Schema& schema = graph.schema;
  for (EdgeTypeId e = 0; e < schema.num_etypes(); e++) {
    step("sorting edges", Index(e), Index(schema.num_etypes()));
    const NodeNumbering& dst = plan.nodes[Index(schema.dst_type(e))];
    plan.edges.emplace_back(graph.edges[Index(e)], plan.nodes[Index(schema.src_type(e))], dst);
    const std::span<const uint64_t> offsets = plan.edges.back().offsets();
    edge_counts.emplace_back();
    for (size_t p = 0; p < Index(parts); p++) {
      edge_counts.back().push_back(
          static_cast<int64_t>(offsets[Index(dst.first[p + 1])] - offsets[Index(dst.first[p])]));
    }
  }
  step("sorting edges", 1, 1);
  plan.meta = std::make_shared<GraphMeta>(
      GraphMeta{options.graph_name, schema,
                PartitionBook(IdMap::FromRanges("node", TileRanges(node_counts, parts)),
                              IdMap::FromRanges("edge", TileRanges(edge_counts, parts))),
                PartMethodName(options.method), 1});
  return plan;
}

// What the files will hold, for the progress.
uint64_t ExpectedBytes(const RawGraph& graph) {
  uint64_t bytes = 0;
  for (const RawNodes& nodes : graph.nodes) {
    bytes += Index(nodes.count) * 16;
    for (const RawFeature& feature : nodes.features) bytes += feature.values.num_bytes();
  }
  for (const RawEdges& edges : graph.edges) {
    bytes += Index(edges.count()) * 12;
    for (const RawFeature& feature : edges.features) {
      bytes += feature.values.num_bytes() * (edges.add_reverse ? 2 : 1);
    }
  }
  return bytes;
}

void CheckFeatures(const std::vector<RawFeature>& features, const std::string& type) {
  for (const RawFeature& feature : features) {
    if (feature.name == kOrigId) {
      Throw(ErrorCode::kInvalid, type, " has a feature '", kOrigId,
            "', the name that partitioning gives to the original ids; rename it");
    }
  }
}

PartitionSummary PartitionAndWrite(const RawGraph& graph, const PartitionOptions& options) {
  const PartitionPlan plan = MakePlan(graph, options);
  MakeDirectories(options.output);
  RemoveOld(options);
  PartitionSummary summary;
  summary.meta = plan.meta;
  for (const SortedEdges& edges : plan.edges) summary.edge_cut += edges.edge_cut();
  const uint64_t total = ExpectedBytes(graph);
  uint64_t done = 0;
  for (PartId p = 0; p < options.num_parts; p++) {
    const auto written = [&](uint64_t bytes) {
      done += bytes;
      if (options.progress)
        options.progress("writing partitions", std::min(done, total - 1), total);
    };
    summary.bytes.push_back(
        WritePartition(graph, plan, PartDirectory(options.output, p), p, written));
  }
  WriteNativePartConfig(options.output, *plan.meta);
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
          "': expected 1 to 100 letters, digits, '.', '_' or '-', beginning with none of '.-'");
  }
  if (options.num_parts < 1 || options.num_parts > kMaxParts) {
    Throw(ErrorCode::kInvalid, "number of partitions ", options.num_parts, " is outside 1..",
          kMaxParts);
  }
  if (options.output.empty()) Throw(ErrorCode::kInvalid, "the output directory has no name");
  if (options.force) return;
  for (const std::string& path : {ConfigPath(options), PartDirectory(options.output, 0)}) {
    if (!FileExists(path)) continue;
    Throw(ErrorCode::kExists, path, " exists; give another --output, or --force to replace it");
  }
}

PartitionSummary PartitionGraph(const RawGraph& graph, const PartitionOptions& options) {
  CheckPartitionOptions(options);
  for (NodeTypeId t = 0; t < graph.schema.num_ntypes(); t++) {
    CheckFeatures(graph.nodes[Index(t)].features, "node type '" + graph.schema.ntype(t) + "'");
  }
  for (EdgeTypeId e = 0; e < graph.schema.num_etypes(); e++) {
    CheckFeatures(graph.edges[Index(e)].features,
                  "edge type '" + graph.schema.etype(e).ToString() + "'");
  }
  try {
    return PartitionAndWrite(graph, options);
  } catch (const std::bad_alloc&) {
    Throw(ErrorCode::kOverloaded, "too little memory to partition the graph; --part_method random ",
          "needs the least");
  } catch (const fs::filesystem_error& error) {
    Throw(ErrorCode::kIo, error.what());
  }
}

}  // namespace graphd
