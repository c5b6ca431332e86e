// SPDX-License-Identifier: Apache-2.0
#include <filesystem>
#include <nlohmann/json.hpp>
#include <optional>

#include "base/file.h"
#include "base/strings.h"
#include "format/partition/assign_nodes.h"
#include "format/partition/node_integers.h"

namespace graphd {
namespace {

namespace fs = std::filesystem;

// The file of each node type, by NodeTypeId.
using TypeFiles = std::vector<std::optional<std::string>>;

// Checks the number of partitions in partition_meta.json, which DGL's random_partition.py and its
// METIS tools write beside the <ntype>.txt files.
void CheckMetaOfDgl(const std::string& directory, int num_parts) {
  const std::string path = JoinPath(directory, "partition_meta.json");
  if (!FileExists(path)) return;
  const auto meta = nlohmann::json::parse(ReadTextFile(path), nullptr, false);
  if (!meta.is_object() || !meta.contains("num_parts") || !meta["num_parts"].is_number_integer()) {
    Throw(ErrorCode::kCorrupt, path, ": expected a JSON object with a whole number \"num_parts\"");
  }
  const auto there = meta["num_parts"].get<int64_t>();
  if (there != num_parts) {
    Throw(ErrorCode::kInvalid, path, ": the nodes are assigned to ", there, " partitions, not to ",
          num_parts, "; give --num_parts ", there);
  }
}

std::string FileInDirectory(const std::string& directory, const std::string& ntype) {
  for (const char* ending : {".txt", ".txt.gz", ".npy"}) {
    std::string path = JoinPath(directory, ntype + ending);
    if (FileExists(path)) return path;
  }
  Throw(ErrorCode::kNotFound, JoinPath(directory, ntype),
        ".txt does not exist (nor .txt.gz, .npy); ",
        "--assignment needs a file for every node type");
}

void Take(TypeFiles& files, NodeTypeId type, std::string path, const Schema& schema) {
  auto& file = files[static_cast<size_t>(type)];
  if (file) {
    Throw(ErrorCode::kInvalid, "--assignment names two files for node type '", schema.ntype(type),
          "': ", *file, " and ", path);
  }
  file = std::move(path);
}

TypeFiles FindFiles(const Schema& schema, const std::vector<std::string>& arguments, int parts) {
  TypeFiles files(static_cast<size_t>(schema.num_ntypes()));
  for (const std::string& argument : arguments) {
    const size_t equals = argument.find('=');
    if (fs::is_directory(argument)) {
      CheckMetaOfDgl(argument, parts);
      for (NodeTypeId t = 0; t < schema.num_ntypes(); t++) {
        Take(files, t, FileInDirectory(argument, schema.ntype(t)), schema);
      }
    } else if (equals != argument.npos && !FileExists(argument)) {
      Take(files, schema.NodeTypeIdOf(argument.substr(0, equals)), argument.substr(equals + 1),
           schema);
    } else if (schema.num_ntypes() == 1) {
      Take(files, 0, argument, schema);
    } else {
      Throw(ErrorCode::kInvalid, "--assignment ", argument, ": the graph has ", schema.num_ntypes(),
            " node types; give TYPE=", argument, " for each, or a directory of <type>.txt");
    }
  }
  for (NodeTypeId t = 0; t < schema.num_ntypes(); t++) {
    if (files[static_cast<size_t>(t)]) continue;
    Throw(ErrorCode::kInvalid, "--assignment has no file for node type '", schema.ntype(t),
          "'; give ", schema.ntype(t), "=PATH");
  }
  return files;
}

}  // namespace

NodeOwners AssignByFile(const RawGraph& graph, const AssignOptions& options) {
  const TypeFiles files = FindFiles(graph.schema, options.assignment, options.num_parts);
  NodeOwners owners;
  for (const RawNodes& nodes : graph.nodes) {
    const std::vector<int64_t> values =
        ReadNodeIntegers(*files[owners.size()], nodes.count, 0, options.num_parts - 1, "partition");
    std::vector<PartId> of_type(values.size());
    for (size_t i = 0; i < values.size(); i++) of_type[i] = static_cast<PartId>(values[i]);
    owners.push_back(std::move(of_type));
  }
  return owners;
}

}  // namespace graphd
