// SPDX-License-Identifier: Apache-2.0
#include "ctl/verbs/partition/partition_input.h"

#include <cstdio>
#include <filesystem>
#include <nlohmann/json.hpp>
#include <utility>

#include "base/file.h"
#include "base/index.h"
#include "base/strings.h"
#include "ctl/columns/python_columns.h"
#include "ctl/plan/part_config_path.h"
#include "ctl/verbs/flags.h"
#include "format/gather_partitions.h"
#include "format/input/chunked.h"
#include "format/input/graph_files.h"
#include "format/input/notes.h"
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

void PrintNote(const std::string& note) {
  if (!note.empty()) std::fprintf(stderr, "graphctl: %s\n", note.c_str());
}

}  // namespace

void PartitionInput::AddOptions(CLI::App& verb) {
  verb.add_option(
      Flags("input"), path_,
      "The graph: a file of edges (CSV, TSV, Parquet, .npz, .npy [2,E], Matrix Market), a pattern "
      "of "
      "Parquet files, a directory of them or in OGB's raw layout or DGL's chunked layout, or a "
      "part config");
  verb.add_option(Flags("input_format"), format_,
                  "auto (detected), ogb, edges (a table as text), parquet, npy, mtx, chunked or "
                  "partition")
      ->capture_default_str();
  verb.add_flag(
      Flags("add_reverse"), add_reverse_,
      "Add the reverse of every edge, with the same features: to the same edge type if it "
      "joins nodes of one type, else to an edge type rev_<rel>");
  verb.add_option(
      Flags("split"), split_,
      "OGB: the split/NAME that becomes train_mask, val_mask and test_mask; required if "
      "there are several");
  AddFileOptions(verb);
}

void PartitionInput::AddFileOptions(CLI::App& verb) {
  const auto add_list = [&](const char* name, std::vector<std::string>& list, const char* text) {
    verb.add_option(Flags(name), list, text)->allow_extra_args(false)->take_all();
  };
  add_list(
      "edges", edges_,
      "src:rel:dst=FILE: edges of a type, instead of --input; 'src:rel:dst=DIR/*.parquet': from "
      "several Parquet files; src:rel:dst.NAME=FILE.npy: one of their features. May be repeated");
  add_list("nodes", nodes_,
           "type=FILE: a table of nodes: ids, then features; type.NAME=FILE.npy: one of their "
           "features. May be repeated");
  add_list("num_nodes", num_nodes_, "[type=]NUMBER: the number of nodes, if some have no edges");
  verb.add_option(Flags("src_col"), src_column_,
                  "Name or position (from 0) of the column of sources (default: the first)");
  verb.add_option(Flags("dst_col"), dst_column_,
                  "Likewise of the column of destinations (default: the second)");
  verb.add_option(
      Flags("feat_cols"), feature_columns_,
      "[TYPE=|FILE=]NAME,NAME...: other columns, of all tables, those of a type or one file, that "
      "become features, or none (default: all)");
  verb.add_option(Flags("separator"), separator_,
                  "Separator of columns: auto, comma, tab, semicolon or space")
      ->capture_default_str();
  verb.add_option(Flags("header"), header_,
                  "Whether tables begin with a header line: auto, yes or no")
      ->capture_default_str();
  verb.add_flag(Flags("map_ids"), map_ids_,
                "Accept arbitrary ids and renumber the nodes in order of first appearance");
  verb.add_option(Flags("python"), python_,
                  "Python interpreter with pyarrow, which reads Parquet, Arrow and .npz files")
      ->capture_default_str();
}

PartitionInput::Format PartitionInput::FormatByName() const {
  return Choose<Format>("--input_format", format_,
                        {{"auto", Format::kAuto},
                         {"ogb", Format::kOgb},
                         {"edges", Format::kEdges},
                         {"parquet", Format::kParquet},
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
        "metadata of a chunked graph (it has no key node_type)");
}

PartitionInput::Format PartitionInput::Detect() const {
  if (!edges_.empty()) return Format::kEdges;
  if (path_.empty()) {
    Throw(ErrorCode::kInvalid, "no graph is given; name its files with --input or --edges");
  }
  const bool several = NamesSeveralFiles(path_);
  if (several && !FileExists(path_)) return Format::kParquet;
  if (!FileExists(path_)) Throw(ErrorCode::kNotFound, "--input ", path_, " does not exist");
  if (several) return DetectDirectory();
  return path_.ends_with(".json") ? JsonFormat(path_) : Format::kEdges;
}

PartitionInput::Format PartitionInput::DetectDirectory() const {
  if (FileExists(JoinPath(path_, "raw"))) return Format::kOgb;
  for (const auto& entry : std::filesystem::directory_iterator(path_)) {
    if (entry.path().extension() == ".json") return JsonFormat(FindPartConfig(path_));
  }
  for (const auto& entry : std::filesystem::directory_iterator(path_)) {
    const std::string name = entry.path().filename().string();
    // A directory named key=value has Parquet files with the rows that have this value.
    if (name.ends_with(".parquet") || (entry.is_directory() && name.find('=') != name.npos)) {
      return Format::kParquet;
    }
  }
  Throw(ErrorCode::kNotFound, "--input ", path_, " has no known format; looked for raw/ ",
        "(OGB's layout), metadata.json (DGL's chunked layout), <graph_name>.json (partitions) and ",
        "*.parquet; ", "to read a file of edges, give the file instead of its directory");
}

std::string PartitionInput::MetadataPath() const {
  return std::filesystem::is_directory(path_) ? JoinPath(path_, "metadata.json") : path_;
}

RawGraph PartitionInput::ReadFiles(Format format, const StepProgress& progress,
                                   SpillFiles* spill) const {
  GraphFilesOptions options;
  if (!path_.empty() && !edges_.empty()) {
    Throw(ErrorCode::kInvalid, "--input ", path_, " and --edges can't be combined");
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
  options.spill = spill;
  options.note = PrintNote;
  ParseFeatureColumns(feature_columns_, options);
  if (format_ == "edges") options.kind = EdgeFileKind::kTable;
  if (format == Format::kNpy) options.kind = EdgeFileKind::kNpy;
  if (format == Format::kMtx) options.kind = EdgeFileKind::kMatrixMarket;
  if (format == Format::kParquet) options.kind = EdgeFileKind::kColumns;
  PythonColumns column_files(python_);
  options.column_files = &column_files;
  return ReadGraphFiles(options);
}

// Throws for options that would have no effect, because a user who gives them expects one.
void PartitionInput::CheckOptions(Format format, bool files) const {
  if (format != Format::kOgb && !split_.empty()) {
    Throw(ErrorCode::kInvalid, "--split ", split_, ": only an input in OGB's layout has splits");
  }
  if (files) return;
  if (path_.empty() || !edges_.empty() || !nodes_.empty()) {
    Throw(ErrorCode::kInvalid, "this input is a directory or a JSON file, which --input names; ",
          "--edges and --nodes can't be combined with it");
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
    Throw(ErrorCode::kInvalid, option, " applies only to files of edges and nodes, and --input ",
          path_, " is a directory or a JSON file that describes its own contents; omit the option");
  }
}

RawGraph PartitionInput::ReadPartitions(const std::string& output,
                                        const StepProgress& progress) const {
  const std::string config = FindPartConfig(path_);
  std::error_code ignored;
  if (std::filesystem::equivalent(output, DirName(config), ignored)) {
    Throw(ErrorCode::kInvalid, "--output ", output, " is the directory of ", config,
          "; give another, so that the input still exists if this run is interrupted");
  }
  return GatherPartitions(LoadPartConfig(config), progress);
}

RawGraph PartitionInput::Read(const std::string& output, const StepProgress& progress,
                              SpillFiles* spill) const {
  Format format = FormatByName();
  if (format == Format::kAuto) format = Detect();
  RawGraph graph;
  const bool files = format == Format::kEdges || format == Format::kNpy || format == Format::kMtx ||
                     format == Format::kParquet;
  CheckOptions(format, files);
  if (format == Format::kOgb) {
    graph = ReadOgbRaw(path_, {.split = split_, .progress = progress, .spill = spill});
    for (const std::string& note : MissingNotes(graph)) PrintNote(note);
  } else if (format == Format::kChunked) {
    graph = ReadChunked(MetadataPath(), progress, spill);
  } else if (format == Format::kPartition) {
    if (spill) {
      Throw(ErrorCode::kInvalid, "--memory: partitions can only be read into memory; give the ",
            "original input of ", path_, ", or omit --memory");
    }
    graph = ReadPartitions(output, progress);
  } else {
    graph = ReadFiles(format, progress, spill);
  }
  if (add_reverse_) AddReverseEdges(graph);
  return graph;
}

nlohmann::ordered_json PartitionInput::Describe(const WrittenFiles& written) const {
  nlohmann::ordered_json json{{"--input", path_},
                              {"--input_format", format_},
                              {"--split", split_},
                              {"--edges", edges_},
                              {"--nodes", nodes_},
                              {"--num_nodes", num_nodes_},
                              {"--feat_cols", feature_columns_},
                              {"--src_col", src_column_},
                              {"--dst_col", dst_column_},
                              {"--separator", separator_},
                              {"--header", header_},
                              {"--add_reverse", add_reverse_},
                              {"--map_ids", map_ids_}};
  std::vector<std::string> paths;
  if (!path_.empty()) {
    // The metadata file of a chunked graph names other files in its directory, so the directory is
    // described.
    const bool metadata = std::filesystem::is_regular_file(path_) &&
                          (format_ == "chunked" || path_.ends_with(".json"));
    paths.push_back(metadata ? DirName(path_) : path_);
  }
  for (const std::string& text : edges_) {
    const EdgeFile file = ParseEdgeFile(text);
    paths.push_back(file.path);
    if (!file.dst_path.empty()) paths.push_back(file.dst_path);
  }
  for (const std::string& text : nodes_) paths.push_back(ParseNodeFile(text).path);
  json["files"] = nlohmann::ordered_json::array();
  for (const std::string& path : paths) json["files"].push_back(DescribeFiles(path, written));
  return json;
}

}  // namespace graphd::ctl
