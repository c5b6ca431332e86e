// SPDX-License-Identifier: Apache-2.0
#include "ctl/verbs/partition_input.h"

#include <cstdio>
#include <filesystem>
#include <nlohmann/json.hpp>
#include <utility>

#include "base/file.h"
#include "base/strings.h"
#include "ctl/verbs/part_config_path.h"
#include "ctl/verbs/verbs.h"
#include "format/gather_partitions.h"
#include "format/input/chunked.h"
#include "format/input/graph_files.h"
#include "format/input/ogb_raw.h"
#include "format/io/json_field.h"
#include "format/load_part_config.h"

namespace graphd::ctl {
namespace {

// Returns the value of a choice, or throws Error(kInvalid) listing all choices.
template <class T, size_t N>
T Choose(const char* option, const std::string& word,
         const std::pair<const char*, T> (&choices)[N]) {
  std::vector<std::string> words;
  for (const auto& [name, value] : choices) {
    if (word == name) return value;
    words.emplace_back(name);
  }
  Throw(ErrorCode::kInvalid, option, " '", word, "', expected ", Join(words, ", "));
}

std::optional<char> SeparatorOf(const std::string& word) {
  return Choose<std::optional<char>>("--separator", word,
                                     {{"auto", std::nullopt},
                                      {"comma", ','},
                                      {"tab", '\t'},
                                      {"semicolon", ';'},
                                      {"space", ' '},
                                      {",", ','},
                                      {"\t", '\t'},
                                      {";", ';'},
                                      {" ", ' '}});
}

}  // namespace

void PartitionInput::AddOptions(CLI::App& verb) {
  verb.add_option(
      Flags("input"), path_,
      "The graph: a file of edges (CSV, TSV, .npy [2,E], Matrix Market), a directory in "
      "OGB's raw layout or DGL's chunked one, or a part config");
  verb.add_option(Flags("input_format"), format_,
                  "auto (by what is there), ogb, edges (a table), npy, mtx, chunked or partition")
      ->capture_default_str();
  verb.add_flag(Flags("add_reverse"), add_reverse_,
                "Add the reverse of every edge, with the same features: within a node type to its "
                "edge type, between two as a type rev_<rel>");
  verb.add_option(Flags("split"), split_,
                  "OGB: which split/NAME becomes train_mask, val_mask and test_mask; needed if "
                  "there are several");
  AddFileOptions(verb);
}

void PartitionInput::AddFileOptions(CLI::App& verb) {
  const auto add_list = [&](const char* name, std::vector<std::string>& list, const char* text) {
    verb.add_option(Flags(name), list, text)->allow_extra_args(false)->take_all();
  };
  add_list("edges", edges_,
           "src:rel:dst=FILE: edges of a type, in place of --input; src:rel:dst.NAME=FILE.npy: a "
           "feature of them. May be repeated");
  add_list("nodes", nodes_,
           "type=FILE: a table of nodes, the id first, then features; type.NAME=FILE.npy: a "
           "feature of them. May be repeated");
  add_list("num_nodes", num_nodes_, "[type=]NUMBER: how many nodes, if more than have edges");
  verb.add_option(Flags("src_col"), src_column_,
                  "Name or position (from 0) of the column of sources; the first by default");
  verb.add_option(Flags("dst_col"), dst_column_, "... of destinations; the second by default");
  verb.add_option(Flags("feat_cols"), feature_columns_,
                  "NAME,NAME...: further columns that become features; all by default, or none")
      ->delimiter(',');
  verb.add_option(Flags("separator"), separator_,
                  "Between columns: auto, comma, tab, semicolon or space")
      ->capture_default_str();
  verb.add_option(Flags("header"), header_, "Whether tables begin with one: auto, yes or no")
      ->capture_default_str();
  verb.add_flag(Flags("map_ids"), map_ids_,
                "Number the nodes anew in order of first appearance, whatever their ids are");
}

PartitionInput::Format PartitionInput::FormatByName() const {
  return Choose<Format>("--input_format", format_,
                        {{"auto", Format::kAuto},
                         {"ogb", Format::kOgb},
                         {"edges", Format::kEdges},
                         {"npy", Format::kNpy},
                         {"mtx", Format::kMtx},
                         {"chunked", Format::kChunked},
                         {"partition", Format::kPartition}});
}

// Returns the kind of graph that a JSON file describes, by its keys.
PartitionInput::Format PartitionInput::JsonFormat(const std::string& path) {
  const nlohmann::json document = ParseJsonFile(path);
  const JsonField root(document, path);
  if (root.Has("num_parts")) return Format::kPartition;
  if (root.Has("node_type")) return Format::kChunked;
  Throw(ErrorCode::kCorrupt, path, ": neither a part config (it has no key num_parts) nor the ",
        "metadata of a chunked graph (nor node_type)");
}

PartitionInput::Format PartitionInput::Detect() const {
  if (!edges_.empty()) return Format::kEdges;
  if (path_.empty()) {
    Throw(ErrorCode::kInvalid, "no graph is given; --input or --edges names its files");
  }
  if (!FileExists(path_)) Throw(ErrorCode::kNotFound, "--input ", path_, " does not exist");
  if (!std::filesystem::is_directory(path_)) {
    return path_.ends_with(".json") ? JsonFormat(path_) : Format::kEdges;
  }
  if (FileExists(JoinPath(path_, "raw"))) return Format::kOgb;
  for (const auto& entry : std::filesystem::directory_iterator(path_)) {
    if (entry.path().extension() == ".json") return JsonFormat(FindPartConfig(path_));
  }
  Throw(ErrorCode::kNotFound, "--input ", path_, " is no graph that is known; looked for raw/ ",
        "(OGB's layout), metadata.json (DGL's chunked layout) and <graph_name>.json (partitions); ",
        "a file of edges is given itself, not its directory");
}

std::string PartitionInput::MetadataPath() const {
  return std::filesystem::is_directory(path_) ? JoinPath(path_, "metadata.json") : path_;
}

RawGraph PartitionInput::ReadFiles(Format format, const StepProgress& progress) const {
  GraphFilesOptions options;
  if (!path_.empty() && !edges_.empty()) {
    Throw(ErrorCode::kInvalid, "--input ", path_, " and --edges don't go together");
  }
  if (!path_.empty()) options.edges.push_back({{"_N", "_E", "_N"}, "", path_, ""});
  for (const std::string& text : edges_) options.edges.push_back(ParseEdgeFile(text));
  for (const std::string& text : nodes_) options.nodes.push_back(ParseNodeFile(text));
  for (const std::string& text : num_nodes_) options.num_nodes.insert(ParseNodeCount(text));
  options.hints.separator = SeparatorOf(separator_);
  options.hints.header = Choose<std::optional<bool>>(
      "--header", header_, {{"auto", std::nullopt}, {"yes", true}, {"no", false}});
  options.src_column = src_column_;
  options.dst_column = dst_column_;
  options.map_ids = map_ids_;
  options.progress = progress;
  options.note = [](const std::string& text) {
    std::fprintf(stderr, "graphctl: %s\n", text.c_str());
  };
  if (feature_columns_ == std::vector<std::string>{"none"}) {
    options.feature_columns.emplace();
  } else if (!feature_columns_.empty()) {
    options.feature_columns = feature_columns_;
  }
  if (format_ == "edges") options.kind = EdgeFileKind::kTable;
  if (format == Format::kNpy) options.kind = EdgeFileKind::kNpy;
  if (format == Format::kMtx) options.kind = EdgeFileKind::kMatrixMarket;
  return ReadGraphFiles(options);
}

// Rejects options that would have no effect: a user who gives them expects one.
void PartitionInput::CheckOptions(Format format, bool files) const {
  if (format != Format::kOgb && !split_.empty()) {
    Throw(ErrorCode::kInvalid, "--split ", split_, ": only an input in OGB's layout has splits");
  }
  if (files) return;
  if (path_.empty() || !edges_.empty() || !nodes_.empty()) {
    Throw(ErrorCode::kInvalid, "this input is a directory or a JSON file, which --input names; ",
          "--edges and --nodes don't go with it");
  }
  const std::pair<const char*, bool> given[] = {{"--num_nodes", !num_nodes_.empty()},
                                                {"--src_col", !src_column_.empty()},
                                                {"--dst_col", !dst_column_.empty()},
                                                {"--feat_cols", !feature_columns_.empty()},
                                                {"--separator", separator_ != "auto"},
                                                {"--header", header_ != "auto"},
                                                {"--map_ids", map_ids_}};
  for (const auto& [option, is_given] : given) {
    if (!is_given) continue;
    Throw(ErrorCode::kInvalid, option, " is about files of edges and nodes, and --input ", path_,
          " is a directory or a JSON file that says by itself what is in it; leave it out");
  }
}

RawGraph PartitionInput::ReadPartitions(const std::string& output,
                                        const StepProgress& progress) const {
  const std::string config = FindPartConfig(path_);
  std::error_code ignored;
  if (std::filesystem::equivalent(output, DirName(config), ignored)) {
    Throw(ErrorCode::kInvalid, "--output ", output, " is the directory of ", config,
          "; give another, so that the input is still there if this run is broken off");
  }
  return GatherPartitions(LoadPartConfig(config), progress);
}

RawGraph PartitionInput::Read(const std::string& output, const StepProgress& progress) const {
  Format format = FormatByName();
  if (format == Format::kAuto) format = Detect();
  RawGraph graph;
  const bool files = format == Format::kEdges || format == Format::kNpy || format == Format::kMtx;
  CheckOptions(format, files);
  if (format == Format::kOgb) {
    graph = ReadOgbRaw(path_, {.split = split_, .progress = progress});
  } else if (format == Format::kChunked) {
    graph = ReadChunked(MetadataPath(), progress);
  } else if (format == Format::kPartition) {
    graph = ReadPartitions(output, progress);
  } else {
    graph = ReadFiles(format, progress);
  }
  if (add_reverse_) AddReverseEdges(graph);
  return graph;
}

}  // namespace graphd::ctl
