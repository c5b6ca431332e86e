// SPDX-License-Identifier: Apache-2.0
#include <unistd.h>

#include <cstdio>
#include <filesystem>
#include <memory>
#include <nlohmann/json.hpp>
#include <optional>
#include <system_error>

#include "base/file.h"
#include "base/strings.h"
#include "ctl/plan/part_config_path.h"
#include "ctl/report/graph_report.h"
#include "ctl/statistics/collect_statistics.h"
#include "ctl/statistics/statistics_json.h"
#include "ctl/statistics/statistics_text.h"
#include "ctl/terminal/progress_line.h"
#include "ctl/verbs/verbs.h"
#include "format/load.h"
#include "format/load_part_config.h"
#include "graph/id_json.h"

namespace graphd::ctl {
namespace {

using nlohmann::ordered_json;

struct InspectArgs {
  std::string path, html;
  PartId part = -1;
  bool json = false, statistics = false;
};

ordered_json DescribeFeature(const std::string& name, const ArraySpec& array) {
  return {{"name", name},
          {"dtype", DTypeName(array.encoding.dtype)},
          {"stored_as", DTypeName(array.encoding.stored)},
          {"row_shape", std::vector<int64_t>(array.shape.begin() + 1, array.shape.end())}};
}

// Describes the features of a type, whose arrays' names begin with `prefix`.
ordered_json DescribeFeatures(const std::vector<ArraySpec>& arrays, const std::string& prefix) {
  ordered_json list = ordered_json::array();
  for (const ArraySpec& array : arrays) {
    if (!array.name.starts_with(prefix)) continue;
    list.push_back(DescribeFeature(array.name.substr(prefix.size()), array));
  }
  return list;
}

ordered_json DescribeNodeFeatures(const std::vector<ArraySpec>& arrays, NodeTypeId t) {
  return DescribeFeatures(arrays, Partition::NodeFeatureName(t, ""));
}

ordered_json DescribeEdgeFeatures(const std::vector<ArraySpec>& arrays, EdgeTypeId e) {
  return DescribeFeatures(arrays, Partition::EdgeFeatureName(e, ""));
}

// Returns the features of the first partition on this machine that can be read; all partitions have
// the same features. Returns none if this machine only has the part config.
std::vector<ArraySpec> AnyFeatureArrays(const PartConfig& config) {
  for (PartId part = 0; part < config.meta->book.num_partitions(); part++) {
    try {
      return FeatureArrays(config, part);
    } catch (const Error& error) {
      if (error.code() == ErrorCode::kNotFound) continue;
      std::fprintf(stderr, "graphctl: %s\n", error.what());
    }
  }
  return {};
}

ordered_json DescribeConfig(const PartConfig& config) {
  const GraphMeta& meta = *config.meta;
  const PartitionBook& book = meta.book;
  ordered_json root;
  root["part_config"] = config.path;
  root["format"] = config.format == PartFormat::kNative ? "graphd-1" : "dgl";
  root["graph_name"] = meta.graph_name;
  root["part_method"] = meta.part_method;
  root["halo_hops"] = meta.halo_hops;
  root["book"] = book.nodes().is_range() ? "range" : "mapped";
  root["num_parts"] = book.num_partitions();
  root["num_nodes"] = book.nodes().total();
  root["num_edges"] = book.edges().total();
  const std::vector<ArraySpec> features = AnyFeatureArrays(config);
  root["ntypes"] = ordered_json::array();
  for (NodeTypeId t = 0; t < meta.schema.num_ntypes(); t++) {
    root["ntypes"].push_back({{"name", meta.schema.ntype(t)},
                              {"nodes", book.nodes().count(t)},
                              {"features", DescribeNodeFeatures(features, t)}});
  }
  root["etypes"] = ordered_json::array();
  for (EdgeTypeId e = 0; e < meta.schema.num_etypes(); e++) {
    root["etypes"].push_back({{"name", meta.schema.etype(e).ToString()},
                              {"edges", book.edges().count(e)},
                              {"features", DescribeEdgeFeatures(features, e)}});
  }
  for (PartId p = 0; p < book.num_partitions(); p++) {
    const PartFiles& files = config.parts[static_cast<size_t>(p)];
    root["parts"].push_back({{"part", p},
                             {"nodes", book.nodes().count_in(p)},
                             {"edges", book.edges().count_in(p)},
                             {"part_graph", files.part_graph}});
  }
  return root;
}

ordered_json DescribePartition(const PartConfig& config, const Partition& partition) {
  const std::vector<ArraySpec> features = FeatureArrays(config, partition.id());
  const Schema& schema = partition.meta().schema;
  ordered_json root;
  root["graph_name"] = partition.meta().graph_name;
  root["part"] = partition.id();
  root["bytes"] = partition.bytes();
  for (NodeTypeId t = 0; t < schema.num_ntypes(); t++) {
    root["ntypes"].push_back({{"name", schema.ntype(t)},
                              {"nodes", partition.num_inner_nodes(t)},
                              {"features", DescribeNodeFeatures(features, t)}});
  }
  for (EdgeTypeId e = 0; e < schema.num_etypes(); e++) {
    const Csc& csc = partition.csc(e);
    int64_t largest = 0, remote = 0;
    for (size_t v = 0; v + 1 < csc.indptr.size(); v++) {
      largest = std::max(largest, static_cast<int64_t>(csc.indptr[v + 1] - csc.indptr[v]));
    }
    const IdMap& nodes = partition.meta().book.nodes();
    for (size_t i = 0; i < csc.indices.size(); i++) {
      remote +=
          nodes.Owner(schema.src_type(e), static_cast<int64_t>(csc.indices[i])) != partition.id();
    }
    root["etypes"].push_back({{"name", schema.etype(e).ToString()},
                              {"edges", partition.num_inner_edges(e)},
                              {"remote_sources", remote},
                              {"largest_in_degree", largest},
                              {"id_bytes", csc.indices.is_narrow() ? 4 : 8},
                              {"edge_rows", csc.edge_rows.has_value()},
                              {"features", DescribeEdgeFeatures(features, e)}});
  }
  return root;
}

std::string Text(const ordered_json& value) {
  return value.is_string() ? value.get<std::string>() : value.dump();
}

std::string FeatureText(const ordered_json& feature) {
  std::string text = Text(feature["name"]) + " " + Text(feature["dtype"]);
  for (const ordered_json& extent : feature["row_shape"]) text += " x " + extent.dump();
  if (feature["stored_as"] != feature["dtype"]) text += ", stored as " + Text(feature["stored_as"]);
  return text;
}

// Prints each member that is not a list as a line "key  value", and each list of objects as a line
// for each object.
void Print(const ordered_json& root) {
  for (const auto& [key, value] : root.items()) {
    if (!value.is_array()) {
      std::printf("%-12s %s\n", key.c_str(), Text(value).c_str());
      continue;
    }
    std::printf("%s\n", key.c_str());
    for (const ordered_json& entry : value) {
      std::vector<std::string> pieces;
      for (const auto& [name, field] : entry.items()) {
        if (name == "features") continue;
        pieces.push_back(name == "name" ? Text(field) : name + " " + Text(field));
      }
      std::printf("  %s\n", Join(pieces, ", ").c_str());
      if (!entry.contains("features")) continue;
      for (const ordered_json& feature : entry["features"]) {
        std::printf("    %s\n", FeatureText(feature).c_str());
      }
    }
  }
}

// Returns the file to which the report is written; for a symbolic link, that is the file that the
// link leads to. Throws if it can't be written. This is checked before the files of the graph are
// read, because reading them may take long. Also throws for devices and pipes, because the report
// replaces the file.
std::string ReportFile(const std::string& path) {
  namespace fs = std::filesystem;
  std::error_code error;
  std::string file = path;
  if (fs::exists(fs::symlink_status(path, error))) {
    file = fs::canonical(path, error).string();
    if (error) {
      Throw(ErrorCode::kInvalid, "--html ", path,
            " is a link that leads to no file: ", error.message(),
            "; remove it, or give the name of a file");
    }
    if (!fs::is_regular_file(file, error)) {
      Throw(ErrorCode::kInvalid, "--html ", path, " is ",
            fs::is_directory(file, error) ? "a directory" : "not a regular file",
            "; give the name of a file");
    }
  }
  const std::string directory = DirName(file);
  if (!fs::is_directory(directory, error)) {
    Throw(ErrorCode::kNotFound, "--html ", path, ": there is no directory ", directory,
          "; create it, or give another path");
  }
  if (::access(directory.c_str(), W_OK) != 0) ThrowErrno("--html: can't write to", directory);
  return file;
}

// Reports on standard error what the statistics leave out.
void NoteOmissions(const GraphStatistics& statistics) {
  if (!statistics.missing.empty()) {
    std::vector<std::string> missing;
    for (const PartId part : statistics.missing) {
      missing.push_back(missing.size() < 10 ? StrCat(part) : "...");
      if (missing.size() > 10) break;
    }
    std::fprintf(stderr,
                 "graphctl: %zu of %d partitions are not on this machine and left out: %s\n",
                 statistics.missing.size(), statistics.num_parts, Join(missing, ", ").c_str());
  }
  if (statistics.memory_for_degrees > 0) {
    std::fprintf(stderr,
                 "graphctl: out-degrees and nodes without edges are left out, because counting "
                 "them takes %s of memory, more than half of what is available\n",
                 HumanBytes(statistics.memory_for_degrees).c_str());
  }
  const auto note_texts = [](const auto& types) {
    for (const auto& type : types) {
      for (const FeatureStatistics& feature : type.features) {
        if (feature.texts_problem.empty()) continue;
        std::fprintf(stderr, "graphctl: the texts of the labels %s of %s are left out: %s\n",
                     feature.name.c_str(), type.name.c_str(), feature.texts_problem.c_str());
      }
    }
  };
  note_texts(statistics.ntypes);
  note_texts(statistics.etypes);
}

void RunWithStatistics(const InspectArgs& args, const PartConfig& config) {
  const std::string report = args.html.empty() ? "" : ReportFile(args.html);
  const auto part = args.part < 0 ? std::nullopt : std::optional(args.part);
  GraphStatistics statistics;
  {
    ProgressLine progress;
    statistics = CollectStatistics(config, part, progress.Callback());
  }
  NoteOmissions(statistics);
  if (!args.html.empty()) WriteFileAtomically(report, GraphReport(config, statistics));
  ordered_json root = DescribeConfig(config);
  if (args.json) {
    root["statistics"] = StatisticsToJson(statistics);
    std::printf("%s\n", root.dump(2, ' ', false, ordered_json::error_handler_t::replace).c_str());
    return;
  }
  if (args.statistics) {
    Print(root);
    std::printf("\n%s", StatisticsToText(statistics).c_str());
  }
  if (!args.html.empty()) std::printf("report  %s\n", args.html.c_str());
}

void Run(const InspectArgs& args) {
  const PartConfig config = LoadPartConfig(FindPartConfig(args.path));
  if (args.statistics || !args.html.empty()) return RunWithStatistics(args, config);
  ordered_json root;
  if (args.part < 0) {
    root = DescribeConfig(config);
  } else {
    ProgressLine progress;
    LoadOptions options;
    options.progress = [&](uint64_t done, uint64_t total) {
      progress.Show("loading partition " + std::to_string(args.part), done, total);
    };
    root = DescribePartition(config, *LoadPartition(config, args.part, options));
  }
  if (args.json) {
    std::printf("%s\n", root.dump(2, ' ', false, ordered_json::error_handler_t::replace).c_str());
  } else {
    Print(root);
  }
}

}  // namespace

void AddInspect(CLI::App& app) {
  auto args = std::make_shared<InspectArgs>();
  CLI::App* verb =
      app.add_subcommand("inspect", "Show a partitioned graph, or one partition of it");
  verb->add_option("path", args->path,
                   "Part config (graphd's or DGL's), or the directory that contains it")
      ->required();
  verb->add_option(Flags("part"), args->part, "Load this partition and show it")
      ->check(CLI::Range(0, 16383));
  verb->add_flag(Flags("statistics"), args->statistics,
                 "Read all partitions on this machine, or --part, and show features, degrees, cut "
                 "and balance");
  verb->add_option(Flags("html"), args->html,
                   "Write the statistics with plots to this file, which a browser shows");
  verb->add_flag(Flags("json"), args->json, "Print JSON");
  verb->footer(
      "Examples:\n"
      "  graphctl inspect data/products.json\n"
      "  graphctl inspect data --part 0 --json\n"
      "  graphctl inspect data --statistics\n"
      "  graphctl inspect data --html report.html");
  verb->callback([args] { Run(*args); });
}

}  // namespace graphd::ctl
